// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReceivers checks that receivers are determined by the targets of references: targets that Contour omits are not alternatives,
// and targets without a ready endpoint cannot respond.
func TestReceivers(t *testing.T) {
	deleted := fleet{missing: []string{"eu-web"}}
	empty := fleet{empty: []string{"eu-web"}}
	external := fleet{external: []string{"eu-web"}}
	externalUS := fleet{external: []string{"us-web"}}
	for name, test := range map[string]struct {
		kind, rule string
		fleet      fleet
		// strict and keep are the rule with backend "us" drained, by drainPolicy, and what it receives then.
		strict, keep         string
		strictGets, keepGets string
	}{
		"missing, Contour":           {"HTTPProxy", "us-web eu-web", deleted, "us-web eu-web", "us-web eu-web", "serves sole us-web", "serves sole us-web"},
		"missing, weights, Contour":  {"HTTPProxy", "us-web=10 eu-web=90", deleted, "us-web=10 eu-web=90", "us-web=10 eu-web=90", "serves sole us-web", "serves sole us-web"},
		"missing, 0/100, Contour":    {"HTTPProxy", "us-web=0 eu-web=100", deleted, "us-web=0 eu-web=100", "us-web=0 eu-web=100", "serves sole us-web", "serves sole us-web"},
		"no such port, Contour":      {"HTTPProxy", "us-web eu-web:99", fleet{}, "us-web eu-web:99", "us-web eu-web:99", "serves sole us-web", "serves sole us-web"},
		"missing beside another":     {"HTTPProxy", "us-web eu-web web", deleted, "us-web=0 eu-web=1 web=1", "us-web=0 eu-web=1 web=1", "drained", "drained"},
		"missing with the weight":    {"HTTPProxy", "us-web eu-web=5 web", deleted, "us-web=0 eu-web=5 web=1", "us-web=0 eu-web=5 web=1", "drained", "drained"},
		"empty, Contour":             {"HTTPProxy", "us-web eu-web", empty, "us-web=0 eu-web=1", "us-web eu-web", "drained sole", "serves sole"},
		"external, Contour":          {"HTTPProxy", "us-web eu-web", external, "us-web=0 eu-web=1", "us-web eu-web", "serves sole us-web", "serves sole us-web"},
		"sole external, Contour":     {"HTTPProxy", "us-web", externalUS, "us-web", "us-web", "serves sole us-web external", "serves sole us-web external"},
		"external beside another":    {"HTTPProxy", "us-web web", externalUS, "us-web=0 web=1", "us-web=0 web=1", "drained", "drained"},
		"missing itself, Contour":    {"HTTPProxy", "us-web:99 eu-web", fleet{}, "us-web:99=0 eu-web=1", "us-web:99=0 eu-web=1", "drained", "drained"},
		"missing, Gateway":           {"HTTPRoute", "us-web eu-web", deleted, "us-web=0 eu-web", "us-web eu-web", "drained sole us-web", "serves sole us-web"},
		"no such port, Gateway":      {"GRPCRoute", "us-web eu-web:99", fleet{}, "us-web=0 eu-web:99", "us-web eu-web:99", "drained sole us-web", "serves sole us-web"},
		"empty, Gateway":             {"HTTPRoute", "us-web eu-web", empty, "us-web=0 eu-web", "us-web eu-web", "drained sole", "serves sole"},
		"external, Gateway":          {"HTTPRoute", "us-web eu-web", external, "us-web=0 eu-web", "us-web eu-web", "drained sole us-web", "serves sole us-web"},
		"sole external, Gateway":     {"HTTPRoute", "us-web", externalUS, "us-web=0", "us-web", "drained sole us-web", "serves sole us-web external"},
		"sole external, Ingress":     {"Ingress", "us-web", externalUS, "us-web", "us-web", "serves sole us-web external", "serves sole us-web external"},
		"missing, IngressRoute":      {"IngressRoute", "us-web eu-web", deleted, "us-web eu-web", "us-web eu-web", "serves sole us-web", "serves sole us-web"},
		"two of a backend, and none": {"HTTPProxy", "us-web us-api eu-web", deleted, "us-web us-api eu-web", "us-web us-api eu-web", "serves sole us-web us-api", "serves sole us-web us-api"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			for _, policy := range []struct {
				keepSole   []string
				want, gets string
			}{{nil, test.strict, test.strictGets}, {[]string{"us"}, test.keep, test.keepGets}} {
				backends := test.fleet
				backends.drained, backends.keepSole = []string{"us"}, policy.keepSole
				object := route(kind, test.rule)
				before := object.DeepCopy()
				decision := rewrite(t, kind, object, backends)
				if diff := cmp.Diff([]string{policy.want}, rulesOf(kind, object)); diff != "" {
					t.Errorf("keepSole %v: %s", policy.keepSole, diff)
				}
				if got := gets(decision.Backends["us"]); got != policy.gets {
					t.Errorf("keepSole %v: share of backend us is %q, want %q", policy.keepSole, got, policy.gets)
				}
				rewrite(t, kind, object, drained())
				if diff := cmp.Diff(before.Object, object.Object); diff != "" {
					t.Errorf("it did not come back: %s", diff)
				}
			}
		})
	}
}

func gets(outcome Outcome) string {
	words := []string{"serves"}
	if outcome.Drained {
		words[0] = "drained"
	}
	if outcome.NoAlternative {
		words = append(words, "sole")
	}
	for _, object := range outcome.Withhold {
		if object.Import {
			words = append(words, "import")
		}
		words = append(words, object.Name)
	}
	if outcome.ExternalName {
		words = append(words, "external")
	}
	return strings.Join(words, " ")
}

// TestTargetsComeAndGo covers changes of the targets of references while a backend is drained.
func TestTargetsComeAndGo(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web eu-web")
	for _, step := range []struct{ missing, want string }{
		{"eu-web", "us-web eu-web"}, {"", "us-web=0 eu-web=1"}, {"eu-web", "us-web eu-web"}, {"", "us-web=0 eu-web=1"},
	} {
		rewrite(t, kind, object, fleet{drained: []string{"us"}, missing: []string{step.missing}})
		if diff := cmp.Diff([]string{step.want}, rulesOf(kind, object)); diff != "" {
			t.Errorf("without %q: %s", step.missing, diff)
		}
	}
}

// TestLikeReferences covers rules that name a Service twice. Only a Service that does not exist can have a weight beside receivers
// without one, so that one of its references gets a weight and the other one has it already.
func TestLikeReferences(t *testing.T) {
	const wanted, set = "web=0 web=1 us-web=0 eu-web=0", "web=1 " + "web=1 us-web=0 eu-web=1"
	kind := kindOf(t, "HTTPProxy")
	drained := fleet{drained: []string{"us"}, missing: []string{"web"}}
	for name, test := range map[string]struct{ edited, drained, restored string }{
		"no client writes":                   {set, set, wanted},
		"a manifest is applied again":        {wanted, set, wanted},
		"the first one gets its weight back": {"web=0 web=1 us-web=0 eu-web=1", set, wanted},
		"the second one gets another weight": {"web=1 web=5 us-web=0 eu-web=1", "web=1 web=5 us-web=0 eu-web=1", "web=0 web=5 us-web=0 eu-web=0"},
		"the second one is removed":          {"web=1 us-web=0 eu-web=1", "web=1 us-web=0 eu-web=1", "web=0 us-web=0 eu-web=0"},
		"a third one is added":               {"web=7 " + set, "web=7 " + set, "web=7 " + set},
		"they change places with another":    {"us-web=0 eu-web=1 web=1 " + "web=1", "us-web=0 eu-web=1 web=1 " + "web=1", "us-web=0 eu-web=0 web=0 web=1"},
	} {
		t.Run(name, func(t *testing.T) {
			object := route(kind, wanted)
			rewrite(t, kind, object, drained)
			if diff := cmp.Diff([]string{set}, rulesOf(kind, object)); diff != "" {
				t.Fatalf("drained: %s", diff)
			}
			object.Object["spec"] = route(kind, test.edited).Object["spec"]
			rewrite(t, kind, object, drained)
			if diff := cmp.Diff([]string{test.drained}, rulesOf(kind, object)); diff != "" {
				t.Errorf("edited: %s", diff)
			}
			rewrite(t, kind, object, fleet{missing: []string{"web"}})
			if diff := cmp.Diff([]string{test.restored}, rulesOf(kind, object)); diff != "" {
				t.Errorf("restored: %s", diff)
			}
		})
	}
}

// receiving returns the references of a rule, as rulesOf writes it, that get requests: Contour leaves out what is missing, and
// distributes evenly what has no weights; the Gateway API responds to the share of what is missing with errors.
func receiving(kind *Kind, rule desiredRule, f fleet) []string {
	var there []desiredRef
	for _, ref := range rule.refs {
		name, _, _ := strings.Cut(ref.key[strings.LastIndex(ref.key, "/")+1:], ":")
		if !isMirror(ref.key) && !slices.Contains(f.missing, name) {
			there = append(there, ref)
		}
	}
	_, isContour := kind.flavor.(contour)
	even := isContour && !slices.ContainsFunc(there, func(ref desiredRef) bool { return isPositive(ref.weight) })
	var found []string
	for _, ref := range there {
		if even || isPositive(ref.weight) || !isContour && ref.weight == "" {
			found = append(found, ref.key[strings.LastIndex(ref.key, "/")+1:])
		}
	}
	return found
}
