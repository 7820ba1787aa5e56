// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// conditions are ready, serving and terminating: y, n, or - for absent.
func conditions(t *testing.T, letters string) discoveryv1.EndpointConditions {
	t.Helper()
	var read [3]*bool
	for i, letter := range letters {
		if letter != '-' {
			read[i] = new(letter == 'y')
		}
	}
	return discoveryv1.EndpointConditions{Ready: read[0], Serving: read[1], Terminating: read[2]}
}

// Withheld, nothing is ready, and all else is as it was. Restored, it means what it meant before.
func TestWithholdAndRestore(t *testing.T) {
	for _, tc := range []struct{ before, withheld, restored string }{
		{"yyn", "nyn", "yyn"},
		{"yy-", "ny-", "yy-"},
		{"y--", "ny-", "yy-"},
		{"---", "ny-", "yy-"},
		{"-n-", "nn-", "nn-"},
		{"-y-", "ny-", "yy-"},
		{"n--", "nn-", "nn-"},
		{"nnn", "nnn", "nnn"},
		{"nyy", "nyy", "nyy"},
		{"nny", "nny", "nny"},
		{"yyy", "nyy", "nyy"}, // ready while it terminates: only the backend can say so again
	} {
		t.Run(tc.before, func(t *testing.T) {
			withheld := Withhold(conditions(t, tc.before))
			if diff := cmp.Diff(conditions(t, tc.withheld), withheld); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(withheld, Withhold(withheld)); diff != "" {
				t.Errorf("withheld twice (-once +twice):\n%s", diff)
			}
			if diff := cmp.Diff(conditions(t, tc.restored), Restore(withheld)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
		})
	}
}

// What was never withheld stays as the backend says.
func TestRestoreLeavesTheRest(t *testing.T) {
	for _, letters := range []string{"---", "y--", "n--", "yyn", "nnn", "nyy", "yyy", "nn-"} {
		if diff := cmp.Diff(conditions(t, letters), Restore(conditions(t, letters))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", letters, diff)
		}
	}
}

func TestDifferInReadiness(t *testing.T) {
	endpoints := func(letters ...string) []discoveryv1.Endpoint {
		var built []discoveryv1.Endpoint
		for i, each := range letters {
			built = append(built, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}, Conditions: conditions(t, each)})
		}
		return built
	}
	moved := endpoints("nyn")
	moved[0].Addresses[0] = "10.0.0.9"
	for name, tc := range map[string]struct {
		a, b []discoveryv1.Endpoint
		want bool
	}{
		"equal":                 {endpoints("yyn"), endpoints("yyn"), false},
		"withheld":              {endpoints("yyn", "nnn"), endpoints("nyn", "nnn"), true},
		"withheld in part":      {endpoints("yyn", "yyn"), endpoints("nyn", "yyn"), true},
		"restored":              {endpoints("---"), endpoints("yy-"), true},
		"not ready there":       {endpoints("yyn"), endpoints("nnn"), false},
		"terminates there":      {endpoints("yyn"), endpoints("nyy"), false},
		"one more":              {endpoints("yyn"), endpoints("nyn", "nyn"), false},
		"of another address":    {endpoints("yyn"), moved, false},
		"no endpoints at all":   {nil, nil, false},
		"none and an empty one": {nil, []discoveryv1.Endpoint{}, false},
	} {
		if got := DifferInReadiness(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
		if got := DifferInReadiness(tc.b, tc.a); got != tc.want {
			t.Errorf("%s, the other way: got %t", name, got)
		}
	}
}

func TestGivesReadiness(t *testing.T) {
	for name, tc := range map[string]struct {
		want, have string
		gives      bool
	}{
		"given":               {"yyn", "nyn", true},
		"given, by absence":   {"-yn", "nyn", true},
		"taken":               {"nyn", "yyn", false},
		"the same":            {"nyn", "nyn", false},
		"ready without a say": {"yyn", "-yn", false},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := func(letters string) []discoveryv1.Endpoint {
				return []discoveryv1.Endpoint{{Conditions: conditions(t, "nyn")}, {Conditions: conditions(t, letters)}}
			}
			if got := GivesReadiness(endpoint(tc.want), endpoint(tc.have)); got != tc.gives {
				t.Errorf("got %t", got)
			}
		})
	}
}
