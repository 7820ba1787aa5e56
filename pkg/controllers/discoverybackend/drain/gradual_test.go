// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShares checks that the share of a backend is moved to the other receivers of each rule in stateless steps: each weight
// follows from the desired one.
func TestShares(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   string
		before string
		shares map[string]int
		want   string
	}{
		"large weights":              {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 60}, "us-web=42 eu-web=30"},
		"the same in Contour":        {"HTTPProxy", "us-web=70 eu-web=30", map[string]int{"us": 60}, "us-web=42 eu-web=30"},
		"small weights":              {"HTTPRoute", "us-web=1 eu-web=2", map[string]int{"us": 90}, "us-web=9 eu-web=20"},
		"no weights":                 {"HTTPRoute", "us-web eu-web", map[string]int{"us": 30}, "us-web=3 eu-web=10"},
		"no weights in Contour":      {"HTTPProxy", "us-web eu-web", map[string]int{"us": 30}, "us-web=3 eu-web=10"},
		"some weights in Contour":    {"HTTPProxy", "us-web=50 eu-web", map[string]int{"us": 50}, "us-web=50 eu-web"},
		"weight 0 stays":             {"HTTPRoute", "us-web=0 eu-web=30", map[string]int{"us": 60}, "us-web=0 eu-web=30"},
		"no alternative":             {"HTTPRoute", "us-web=7 us-api=3", map[string]int{"us": 60}, "us-web=7 us-api=3"},
		"another is drained":         {"HTTPRoute", "us-web=70 eu-web=30 web=10", map[string]int{"us": 50, "eu": 0}, "us-web=35 eu-web=0 web=10"},
		"nothing but a drained one":  {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 50, "eu": 0}, "us-web=70 eu-web=0"},
		"two at different steps":     {"HTTPRoute", "us-web=50 eu-web=50", map[string]int{"us": 20, "eu": 80}, "us-web=10 eu-web=40"},
		"never nothing":              {"HTTPRoute", "us-web=1 eu-web=900000", map[string]int{"us": 10}, "us-web=1 eu-web=900000"},
		"mirrors stay until the end": {"HTTPProxy", "us-web=50 eu-web=50 mirror:us-api", map[string]int{"us": 10}, "us-web=5 eu-web=50 mirror:us-api"},
		"a whole share":              {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 100}, "us-web=70 eu-web=30"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, tc.kind)
			object := route(kind, tc.before)
			original := object.DeepCopy()
			backends := fleet{shares: tc.shares}
			rewrite(t, kind, object, fleet{shares: map[string]int{"us": 80}}) // a step before does not matter
			decision := rewrite(t, kind, object, backends)
			if diff := cmp.Diff([]string{tc.want}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			if tc.shares["us"] > 0 && decision.Backends["us"].Drained != (name == "weight 0 stays") {
				t.Errorf("drained: %+v", decision.Backends)
			}
			if again := kind.View(object.Object).Decide(backends); again.Write || again.Forced > 0 || decision.Forced > 0 {
				t.Errorf("it is written again: %+v, %+v", decision, again)
			}
			rewrite(t, kind, object, fleet{})
			if diff := cmp.Diff(original.Object, object.Object); diff != "" {
				t.Errorf("it did not come back: %s", diff)
			}
		})
	}
}

// TestSharesAndEditsOfSmallWeights checks that a weight that a user sets beside multiplied weights is read in their scale.
func TestSharesAndEditsOfSmallWeights(t *testing.T) {
	for kindName, tc := range map[string]struct{ before, at, after, want string }{
		"HTTPProxy": {"us-web eu-web web=0", "us-web=6 eu-web=10 web=10", "us-web=6 eu-web=20 web=10", "us-web=10 eu-web=20 web=10"},
		"HTTPRoute": {"us-web=2 eu-web web=3", "us-web=12 eu-web=10 web=30", "us-web=12 eu-web=20 web=30", "us-web=20 eu-web=20 web=30"},
	} {
		kind := kindOf(t, kindName)
		object, at60 := route(kind, tc.before), fleet{shares: map[string]int{"us": 60}}
		rewrite(t, kind, object, at60)
		if diff := cmp.Diff([]string{tc.at}, rulesOf(kind, object)); diff != "" {
			t.Error(diff)
		}
		setWeight(kind, object, 0, "eu-web", 0, "20")
		rewrite(t, kind, object, at60)
		if diff := cmp.Diff([]string{tc.after}, rulesOf(kind, object)); diff != "" {
			t.Error(diff)
		}
		rewrite(t, kind, object, fleet{})
		if diff := cmp.Diff([]string{tc.want}, rulesOf(kind, object)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSharesOfSole checks that, with KeepSole, nothing is moved to receivers that cannot respond.
func TestSharesOfSole(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "us-web=70 eu-web=30")
	backends := fleet{shares: map[string]int{"us": 60}, keepSole: []string{"us"}, empty: []string{"eu-web"}}
	rewrite(t, kind, object, backends)
	if diff := cmp.Diff([]string{"us-web=70 eu-web=30"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}

// TestSharesAndEdits checks that a weight that a user sets during the drain is the desired one from then on.
func TestSharesAndEdits(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web=70 eu-web=30")
	rewrite(t, kind, object, fleet{shares: map[string]int{"us": 60}})
	setWeight(kind, object, 0, "us-web", 0, "100")
	rewrite(t, kind, object, fleet{shares: map[string]int{"us": 60}})
	if diff := cmp.Diff([]string{"us-web=60 eu-web=30"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
	rewrite(t, kind, object, fleet{})
	if diff := cmp.Diff([]string{"us-web=100 eu-web=30"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}
