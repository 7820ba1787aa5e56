// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestLabels(t *testing.T) {
	source := map[string]string{
		"app": "web", "team.example.com/name": "shop", "team.example.com": "x", "tier": "front",
		"app.kubernetes.io/instance": "web", "argocd.argoproj.io/instance": "web", "mirror.linkerd.io/exported": "true",
		"applyset.kubernetes.io/part-of": "id", "kapp.k14s.io/app": "1", "objectset.rio.cattle.io/hash": "2", "operators.coreos.com/x": "",
		"helm.sh/chart": "web-1", "cli-utils.sigs.k8s.io/inventory-id": "3", gimbalv1.LabelLoadBalancerName: "lb",
	}
	own := func(pairs ...string) map[string]string {
		want := map[string]string{gimbalv1.LabelLoadBalancerName: "lb"}
		for i := 0; i < len(pairs); i += 2 {
			want[pairs[i]] = pairs[i+1]
		}
		return want
	}
	for name, tc := range map[string]struct {
		labels Labels
		have   map[string]string
		want   map[string]string
	}{
		"default":                   {Labels{}, nil, own()},
		"a key included":            {Labels{Include: []string{"app"}}, nil, own("app", "web")},
		"a prefix included":         {Labels{Include: []string{"team.example.com/"}}, nil, own("team.example.com/name", "shop")},
		"part of a key":             {Labels{Include: []string{"ap"}}, nil, own()},
		"of another controller":     {Labels{Include: []string{"applyset.kubernetes.io/part-of"}}, nil, own("applyset.kubernetes.io/part-of", "id")},
		"selected by":               {Labels{Selected: []string{"tier", "absent"}}, nil, own("tier", "front")},
		"selected by another's":     {Labels{Selected: []string{"argocd.argoproj.io/instance"}}, nil, own()},
		"excluded and included":     {Labels{Include: []string{"app"}, Exclude: []string{"app"}}, nil, own()},
		"excluded and selected by":  {Labels{Selected: []string{"tier"}, Exclude: []string{"tier"}}, nil, own()},
		"added":                     {Labels{Add: map[string]string{"cluster": "eu"}}, nil, own("cluster", "eu")},
		"added instead":             {Labels{Include: []string{"app"}, Add: map[string]string{"app": "other"}}, nil, own("app", "other")},
		"added although excluded":   {Labels{Exclude: []string{"app"}, Add: map[string]string{"app": "other"}}, nil, own("app", "other")},
		"added, of another":         {Labels{Add: map[string]string{"argocd.argoproj.io/instance": "x"}}, nil, own("argocd.argoproj.io/instance", "x")},
		"a copy of before":          {Labels{}, map[string]string{"app": "old", "tier": "front"}, own("app", "web", "tier", "front")},
		"no longer at the service":  {Labels{}, map[string]string{"gone": "x"}, own()},
		"of before, and excluded":   {Labels{Exclude: []string{"app"}}, map[string]string{"app": "web", "tier": "front"}, own("tier", "front")},
		"of before, and of another": {Labels{}, map[string]string{"applyset.kubernetes.io/part-of": "id", "kapp.k14s.io/app": "1", "helm.sh/chart": "web-1"}, own()},
	} {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(source)
			if diff := cmp.Diff(tc.want, tc.labels.Of(source, tc.have)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if !maps.Equal(before, source) {
				t.Error("the labels of the source have changed")
			}
		})
	}
	if got := (Labels{}).Of(nil, nil); len(got) > 0 {
		t.Errorf("labels of none = %v", got)
	}
}
