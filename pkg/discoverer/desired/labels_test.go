// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabels(t *testing.T) {
	source := map[string]string{
		"app": "web", "team.example.com/name": "shop", "team.example.com": "x",
		"app.kubernetes.io/instance": "web", "app.kubernetes.io/name": "web", "argocd.argoproj.io/instance": "web",
		"mirror.linkerd.io/exported": "true", "service.kubernetes.io/service-proxy-name": "none", "service.kubernetes.io/headless": "",
		"kustomize.toolkit.fluxcd.io/name": "web",
	}
	with := func(pairs ...string) map[string]string {
		want := map[string]string{"app": "web", "team.example.com/name": "shop", "team.example.com": "x", "app.kubernetes.io/name": "web"}
		for i := 0; i < len(pairs); i += 2 {
			want[pairs[i]] = pairs[i+1]
		}
		return want
	}
	without := func(key string) map[string]string {
		want := with()
		delete(want, key)
		return want
	}
	for name, tc := range map[string]struct {
		labels Labels
		want   map[string]string
	}{
		"default":                     {Labels{}, with()},
		"a key included":              {Labels{Include: []string{"app.kubernetes.io/instance"}}, with("app.kubernetes.io/instance", "web")},
		"a prefix included":           {Labels{Include: []string{"mirror.linkerd.io/"}}, with("mirror.linkerd.io/exported", "true")},
		"a key excluded":              {Labels{Exclude: []string{"app"}}, without("app")},
		"a prefix excluded":           {Labels{Exclude: []string{"team.example.com/"}}, without("team.example.com/name")},
		"part of a key":               {Labels{Exclude: []string{"ap"}}, with()},
		"excluded and included":       {Labels{Include: []string{"app"}, Exclude: []string{"app"}}, without("app")},
		"added":                       {Labels{Add: map[string]string{"cluster": "eu"}}, with("cluster", "eu")},
		"added instead":               {Labels{Add: map[string]string{"app": "other"}}, with("app", "other")},
		"added although excluded":     {Labels{Exclude: []string{"app"}, Add: map[string]string{"app": "other"}}, with("app", "other")},
		"added, excluded by default":  {Labels{Add: map[string]string{"argocd.argoproj.io/instance": "x"}}, with("argocd.argoproj.io/instance", "x")},
		"included, of another prefix": {Labels{Include: []string{"argocd.argoproj.io"}}, with()},
	} {
		before := maps.Clone(source)
		if diff := cmp.Diff(tc.want, tc.labels.Of(source)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !maps.Equal(before, source) {
			t.Fatalf("%s: the labels of the source have changed", name)
		}
	}
	if got := (Labels{}).Of(nil); len(got) > 0 {
		t.Errorf("labels of none = %v", got)
	}
}
