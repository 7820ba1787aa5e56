// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// An upgrade keeps the labels that copies have and their Services too, as these change, except those of other controllers; a new copy has
// only what is included or selected by.
func TestCopiedLabels(t *testing.T) {
	tags := map[string]string{"app": "web", "team": "shop", "tier": "front", "argocd.argoproj.io/instance": "web", "applyset.kubernetes.io/part-of": "id"}
	web, api := labelled(service("shop", "web"), tags), service("shop", "api")
	w := newWorld(t, []runtime.Object{web, api}, append(copied("us", web), namespace("shop")))
	w.start(setup{labels: desired.Labels{Include: []string{"tier"}, Exclude: []string{"team"}, Add: map[string]string{"cluster": "us"}}})
	w.until("the labels are written", func() bool { return w.service("shop", "us-web").Labels["cluster"] == "us" })
	of := func(name string) map[string]string {
		kept := map[string]string{}
		for _, key := range []string{"app", "team", "tier", "cluster", "argocd.argoproj.io/instance", "applyset.kubernetes.io/part-of"} {
			if value, ok := w.service("shop", name).Labels[key]; ok {
				kept[key] = value
			}
		}
		return kept
	}
	if diff := cmp.Diff(map[string]string{"app": "web", "tier": "front", "cluster": "us"}, of("us-web")); diff != "" {
		t.Errorf("labels of the copy of before (-want +got):\n%s", diff)
	}
	w.until("the new copy is there", func() bool { return slices.Contains(w.names(), "shop/us-api") })
	w.writes()
	update(t, w.there, labelled(web, map[string]string{"app": "renamed", "team": "other", "argocd.argoproj.io/instance": "other", "new": "label"}))
	w.until("a label is copied", func() bool { return w.service("shop", "us-web").Labels["app"] == "renamed" })
	if _, ok := w.service("shop", "us-web").Labels["new"]; ok {
		t.Error("a label that is not included is copied to a copy of before")
	}
	if written := w.writes(); !slices.Equal(written, []string{"patch services"}) {
		t.Errorf("writes = %v, want one patch: the other labels are not copied", written)
	}
	update(t, w.there, labelled(api, tags))
	w.until("the new copy has labels", func() bool { return w.service("shop", "us-api").Labels["tier"] == "front" })
	if diff := cmp.Diff(map[string]string{"tier": "front", "cluster": "us"}, of("us-api")); diff != "" {
		t.Errorf("labels of the new copy (-want +got):\n%s", diff)
	}
}

// A selector selects by the labels in the backend, also those that are not copied.
func TestSelector(t *testing.T) {
	published := map[string]string{"argocd.argoproj.io/instance": "web"}
	selector := labels.SelectorFromSet(published)
	web, api := labelled(service("shop", "web"), published), service("shop", "api")
	w := newWorld(t, []runtime.Object{web, api}, append(copied("us", api), namespace("shop")))
	w.start(setup{selector: selector})
	w.until("what is selected is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-web"}) })
	update(t, w.there, labelled(api, published))
	w.until("what is selected later is here", func() bool { return slices.Equal(w.names(), []string{"shop/us-api", "shop/us-web"}) })
	update(t, w.there, labelled(web, nil))
	w.until("what is no longer selected is deleted", func() bool { return slices.Equal(w.names(), []string{"shop/us-api"}) })
}
