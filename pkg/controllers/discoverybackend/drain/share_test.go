// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestShares checks that the share of the requests that a backend gets falls linearly in each rule, whatever the weights are, in stateless
// steps: each weight follows from the desired ones.
func TestShares(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   string
		before string
		shares map[string]int
		want   string
	}{
		"percentages":                 {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 60}, "us-web=42 eu-web=58"},
		"the same in Contour":         {"HTTPProxy", "us-web=70 eu-web=30", map[string]int{"us": 60}, "us-web=42 eu-web=58"},
		"nearly all of the requests":  {"HTTPRoute", "us-web=99 eu-web=1", map[string]int{"us": 20}, "us-web=1980 eu-web=8020"},
		"the last step":               {"HTTPRoute", "us-web=99 eu-web=1", map[string]int{"us": 10}, "us-web=990 eu-web=9010"},
		"small weights":               {"HTTPRoute", "us-web=1 eu-web=2", map[string]int{"us": 90}, "us-web=30 eu-web=70"},
		"no weights":                  {"HTTPRoute", "us-web eu-web", map[string]int{"us": 30}, "us-web=15 eu-web=85"},
		"no weights in Contour":       {"HTTPProxy", "us-web eu-web", map[string]int{"us": 30}, "us-web=15 eu-web=85"},
		"some weights in Contour":     {"HTTPProxy", "us-web=50 eu-web", map[string]int{"us": 50}, "us-web=50 eu-web"},
		"three receivers":             {"HTTPRoute", "us-web=50 eu-web=30 web=20", map[string]int{"us": 50}, "us-web=25 eu-web=45 web=30"},
		"weight 0 stays":              {"HTTPRoute", "us-web=0 eu-web=30", map[string]int{"us": 60}, "us-web=0 eu-web=30"},
		"the others have weight 0":    {"HTTPRoute", "us-web=50 eu-web=0", map[string]int{"us": 60}, "us-web=50 eu-web=0"},
		"no alternative":              {"HTTPRoute", "us-web=7 us-api=3", map[string]int{"us": 60}, "us-web=7 us-api=3"},
		"two Services of it":          {"HTTPRoute", "us-web=40 us-api=40 eu-web=20", map[string]int{"us": 50}, "us-web=20 us-api=20 eu-web=60"},
		"another is drained":          {"HTTPRoute", "us-web=60 eu-web=30 web=20", map[string]int{"us": 50, "eu": 0}, "us-web=3750 eu-web=0 web=6250"},
		"nothing but a drained one":   {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 50, "eu": 0}, "us-web=70 eu-web=0"},
		"two at different steps":      {"HTTPRoute", "us-web=50 eu-web=50", map[string]int{"us": 20, "eu": 80}, "us-web=10 eu-web=90"},
		"two at the same step":        {"HTTPRoute", "us-web=50 eu-web=50", map[string]int{"us": 20, "eu": 20}, "us-web=50 eu-web=50"},
		"two at one step and another": {"HTTPRoute", "us-web=40 eu-web=40 web=20", map[string]int{"us": 50, "eu": 50}, "us-web=20 eu-web=20 web=60"},
		"two and another":             {"HTTPRoute", "us-web=40 eu-web=30 web=30", map[string]int{"us": 50, "eu": 80}, "us-web=20 eu-web=32 web=48"},
		"hardly anything":             {"HTTPRoute", "us-web=1 eu-web=900000", map[string]int{"us": 10}, "us-web=1 eu-web=1000000"},
		"near the limit":              {"HTTPProxy", "us-web=9000000000000000000 eu-web=3000000000000000000", map[string]int{"us": 20}, "us-web=15 eu-web=85"},
		"mirrors stay until the end":  {"HTTPProxy", "us-web=50 eu-web=50 mirror:us-api", map[string]int{"us": 10}, "us-web=5 eu-web=95 mirror:us-api"},
		"a whole share":               {"HTTPRoute", "us-web=70 eu-web=30", map[string]int{"us": 100}, "us-web=70 eu-web=30"},
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

// TestSharesAreLinear checks over random rules, as a client of the route sees them, that a backend that alone moves away gets its share of
// the requests at each step, that no other one gets less than before, and that no step moves more than a tenth of what it had.
func TestSharesAreLinear(t *testing.T) {
	for _, kindName := range []string{"HTTPProxy", "HTTPRoute"} {
		t.Run(kindName, func(t *testing.T) {
			kind := kindOf(t, kindName)
			rapid.Check(t, func(t *rapid.T) {
				refs := []string{"us-web", "eu-web", "web"}[:rapid.IntRange(2, 3).Draw(t, "references")]
				object := route(kind, strings.Join(refs, " "))
				for _, name := range refs {
					setWeight(kind, object, 0, name, 0, fmt.Sprint(rapid.SampledFrom([]int64{1, 2, 7, 30, 99, 1000, 999_999, 1_000_000}).Draw(t, name)))
				}
				wanted := kind.View(object.Object).Flows(fleet{})[0].Parts
				for share := 100; share > 0; share -= 10 {
					backends := fleet{shares: map[string]int{"us": share}}
					if _, err := kind.Rewrite(object, backends); err != nil {
						t.Fatal(err)
					}
					for i, part := range kind.View(object.Object).Flows(backends)[0].Parts {
						want := wanted[i].Wanted * float64(share) / 100
						if i == 0 && math.Abs(part.Now-want) > want*0.01+2e-6 {
							t.Fatalf("at %d %%: us gets %f, want %f: %v", share, part.Now, want, rulesOf(kind, object))
						}
						if i > 0 && part.Now < wanted[i].Wanted*0.99-2e-6 {
							t.Fatalf("at %d %%: %s gets %f, less than %f", share, part.Service.Name, part.Now, wanted[i].Wanted)
						}
					}
				}
			})
		})
	}
}

// TestSharesAndInvalidReceivers checks that nothing moves to a reference that implementations may reject.
func TestSharesAndInvalidReceivers(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	for name, tc := range map[string]struct{ before, want string }{
		"no other":  {"us-web=70 other:eu-web=30", "us-web=70 other:eu-web=30"},
		"one other": {"us-web=60 other:eu-web=20 web=20", "us-web=30 other:eu-web=20 web=50"},
	} {
		t.Run(name, func(t *testing.T) {
			object := route(kind, tc.before)
			if _, err := kind.Rewrite(object, judging{fleet: fleet{shares: map[string]int{"us": 50}}}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(route(kind, tc.want).Object["spec"], object.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSharesAndEditsInAnotherSum checks that a weight that a user sets beside weights of another sum is read in that sum, and that a manifest
// that is applied again is read as what it was.
func TestSharesAndEditsInAnotherSum(t *testing.T) {
	for kindName, tc := range map[string]struct{ before, at, want string }{
		"HTTPProxy": {"us-web eu-web", "us-web=30 eu-web=70", "us-web=50 eu-web=20"},
		"HTTPRoute": {"us-web=3 eu-web web=1", "us-web=36 eu-web=32 web=32", "us-web=60 eu-web=20 web=20"},
	} {
		t.Run(kindName, func(t *testing.T) {
			kind := kindOf(t, kindName)
			object, at60 := route(kind, tc.before), fleet{shares: map[string]int{"us": 60}}
			rewrite(t, kind, object, at60)
			if diff := cmp.Diff([]string{tc.at}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			applied := object.DeepCopy()
			applied.Object["spec"] = route(kind, tc.before).Object["spec"]
			rewrite(t, kind, applied, at60)
			if diff := cmp.Diff([]string{tc.at}, rulesOf(kind, applied)); diff != "" {
				t.Errorf("after the manifest was applied again: %s", diff)
			}
			rewrite(t, kind, applied, fleet{})
			if diff := cmp.Diff([]string{tc.before}, rulesOf(kind, applied)); diff != "" {
				t.Errorf("restored after the manifest was applied again: %s", diff)
			}
			setWeight(kind, object, 0, "eu-web", 0, "20")
			rewrite(t, kind, object, at60)
			rewrite(t, kind, object, fleet{})
			if diff := cmp.Diff([]string{tc.want}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRecordOfMultipliedWeights checks that a record of a release that multiplied weights is understood.
func TestRecordOfMultipliedWeights(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	object := route(kind, "us-web=6 eu-web=10")
	object.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: `{"uid":"4711","rules":[{"list":"rules","print":"","refs":["shop/eu-web:80","shop/us-web:80"],"index":0,"slots":[` +
		`{"service":"shop/us-web:80","set":6,"ordinal":0,"backend":"us","scale":10},{"service":"shop/eu-web:80","set":10,"ordinal":0,"at":1,"scale":10}]}]}`})
	rewrite(t, kind, object, fleet{shares: map[string]int{"us": 40}})
	if diff := cmp.Diff([]string{"us-web=20 eu-web=80"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
	rewrite(t, kind, object, fleet{})
	if diff := cmp.Diff([]string{"us-web eu-web"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
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
	if diff := cmp.Diff([]string{"us-web=4615 eu-web=5385"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
	rewrite(t, kind, object, fleet{})
	if diff := cmp.Diff([]string{"us-web=100 eu-web=30"}, rulesOf(kind, object)); diff != "" {
		t.Error(diff)
	}
}
