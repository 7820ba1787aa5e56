// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// Labels by which other controllers act on an object are removed from a copy that has them, and not written again.
func TestCopiedLabels(t *testing.T) {
	web := labelled(service("shop", "web"), map[string]string{"app": "web", "team": "shop", "argocd.argoproj.io/instance": "web"})
	w := newWorld(t, []runtime.Object{web}, append(copied("us", web), namespace("shop")))
	w.start(setup{labels: desired.Labels{Exclude: []string{"team"}, Add: map[string]string{"cluster": "us"}}})
	w.until("the labels are written", func() bool { return w.service("shop", "us-web").Labels["cluster"] == "us" })
	got := w.service("shop", "us-web").Labels
	for _, key := range []string{"argocd.argoproj.io/instance", "team"} {
		if _, ok := got[key]; ok {
			t.Errorf("labels of the copy = %v, want none with key %s", got, key)
		}
	}
	if got["app"] != "web" {
		t.Errorf("labels of the copy = %v, want app: web", got)
	}
	if written := w.writes(); !slices.Equal(written, []string{"patch services"}) {
		t.Errorf("writes = %v, want one patch", written)
	}
	changed := web.DeepCopy()
	changed.Labels["argocd.argoproj.io/instance"], changed.Labels["team"] = "other", "other"
	update(t, w.there, changed)
	update(t, w.there, labelled(web, map[string]string{"app": "renamed"}))
	w.until("a label is copied", func() bool { return w.service("shop", "us-web").Labels["app"] == "renamed" })
	if written := w.writes(); !slices.Equal(written, []string{"patch services"}) {
		t.Errorf("writes = %v, want one patch: the other labels are not copied", written)
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
