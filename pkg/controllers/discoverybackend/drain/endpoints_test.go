// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "testing"

// TestWithoutEndpoints checks which references get requests although no endpoint is ready.
func TestWithoutEndpoints(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, before string
		fleet        fleet
		want         bool
	}{
		"ready":                     {"HTTPRoute", "us-web=70 eu-web=30", fleet{}, false},
		"not ready":                 {"HTTPRoute", "us-web=70 eu-web=30", fleet{empty: []string{"us-web"}}, true},
		"the only one of a path":    {"Ingress", "us-web", fleet{empty: []string{"us-web"}}, true},
		"another one is not ready":  {"HTTPProxy", "us-web=70 eu-web=30", fleet{empty: []string{"eu-web"}}, false},
		"not ready, and the weight": {"HTTPRoute", "us-web=0 eu-web=30", fleet{empty: []string{"us-web"}}, false},
		"even in Contour":           {"HTTPProxy", "us-web=0 eu-web=0", fleet{empty: []string{"us-web"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, tc.kind)
			got := kind.View(route(kind, tc.before).Object).Decide(tc.fleet).Backends["us"].WithoutEndpoints
			if (len(got) == 1 && got[0] == "Service shop/us-web") != tc.want || len(got) > 0 != tc.want {
				t.Errorf("without endpoints: %q, want it named: %t", got, tc.want)
			}
		})
	}
}
