// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestFailover checks that the requests for a Service that fails over go to the other receivers of its rule, never when none of them serves,
// and that the route is restored byte for byte.
func TestFailover(t *testing.T) {
	web := []string{"us-web"}
	for name, tc := range map[string]struct {
		kind, before string
		fleet        fleet
		want         string
	}{
		"another one takes it":              {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web}, "us-web=0 eu-web=30"},
		"the same in Contour":               {"HTTPProxy", "us-web=70 eu-web=30", fleet{failing: web, empty: web}, "us-web=0 eu-web=30"},
		"no weights in Contour":             {"HTTPProxy", "us-web eu-web", fleet{failing: web, empty: web}, "us-web=0 eu-web=1"},
		"no weights":                        {"TCPRoute", "us-web eu-web", fleet{failing: web, empty: web}, "us-web=0 eu-web"},
		"a Service of no backend takes it":  {"HTTPRoute", "us-web=70 web=30", fleet{failing: web, empty: web}, "us-web=0 web=30"},
		"one of the same backend takes it":  {"HTTPRoute", "us-web=50 us-api=25 eu-web=25", fleet{failing: web, empty: web}, "us-web=0 us-api=25 eu-web=25"},
		"it is the only one":                {"HTTPRoute", "us-web=70", fleet{failing: web, empty: web}, "us-web=70"},
		"the other one is not ready":        {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: []string{"us-web", "eu-web"}}, "us-web=70 eu-web=30"},
		"the other one does not exist":      {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, missing: []string{"eu-web"}}, "us-web=70 eu-web=30"},
		"the other one has the weight 0":    {"HTTPRoute", "us-web=70 eu-web=0", fleet{failing: web, empty: web}, "us-web=70 eu-web=0"},
		"the other one fails over as well":  {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: []string{"us-web", "eu-web"}, empty: web}, "us-web=70 eu-web=30"},
		"the other one is drained":          {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, drained: []string{"eu"}}, "us-web=70 eu-web=0"},
		"the other one keeps its traffic":   {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, drained: []string{"eu"}, keepSole: []string{"eu"}}, "us-web=0 eu-web=30"},
		"the other one may be rejected":     {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, external: []string{"eu-web"}}, "us-web=70 eu-web=30"},
		"it gets nothing anyway":            {"HTTPRoute", "us-web=0 eu-web=30", fleet{failing: web, empty: web}, "us-web=0 eu-web=30"},
		"its backend is drained":            {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, drained: []string{"us"}}, "us-web=0 eu-web=30"},
		"its backend is being drained":      {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web, empty: web, shares: map[string]int{"us": 50}}, "us-web=0 eu-web=30"},
		"an Ingress has no weights":         {"Ingress", "us-web", fleet{failing: web, empty: web}, "us-web"},
		"it is ready, and not yet for long": {"HTTPRoute", "us-web=70 eu-web=30", fleet{failing: web}, "us-web=0 eu-web=30"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, tc.kind)
			object := route(kind, tc.before)
			original := object.DeepCopy()
			if tc.want != tc.before {
				rewrite(t, kind, object, tc.fleet)
			}
			if diff := gocmp.Diff([]string{tc.want}, rulesOf(kind, object)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			view := kind.View(object.Object)
			decision := view.Decide(tc.fleet)
			if decision.Write {
				t.Errorf("it is written again: %+v", decision)
			}
			fails := tc.want != tc.before && tc.fleet.drained == nil || tc.fleet.keepSole != nil
			if got := len(decision.Backends["us"].FailedOver) > 0; got != fails {
				t.Errorf("failed over: %t, want %t", got, fails)
			}
			want := sets.Set[types.NamespacedName]{}
			if fails {
				want.Insert(types.NamespacedName{Namespace: "shop", Name: "us-web"})
			}
			if got := view.FailedOver(); !got.Equal(want) {
				t.Errorf("recorded: %v, want %v", got, want)
			}
			if got := view.Drained(); fails && len(got) > 0 {
				t.Errorf("backends that are drained by the record: %v, want none", got)
			}
			rewrite(t, kind, object, fleet{missing: tc.fleet.missing})
			if diff := gocmp.Diff(original.Object, object.Object); diff != "" {
				t.Errorf("it did not come back (-want +got):\n%s", diff)
			}
		})
	}
}
