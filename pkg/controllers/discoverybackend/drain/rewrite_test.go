// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// whatever ignores which Services are to be withheld; see TestReceivers.
var whatever = cmpopts.IgnoreFields(Outcome{}, "Wanted", "Now", "Withhold")

// TestDrainAndRestore checks how each kind represents the weights of drained backends, the resulting shares, and that everything is
// restored.
func TestDrainAndRestore(t *testing.T) {
	contours := []string{"HTTPProxy", "IngressRoute"}
	gateways := []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"}
	nothing, sole, served := Outcome{Drained: true}, Outcome{NoAlternative: true}, Outcome{}
	for name, test := range map[string]struct {
		kinds    []string
		rules    []string
		drained  []string
		want     []string
		backends map[string]Outcome
	}{
		"nothing drained": {slices.Concat(contours, gateways), []string{"us-web=50 web=50"}, nil, []string{"us-web=50 web=50"}, map[string]Outcome{"us": served}},
		"of no backend":   {slices.Concat(contours, gateways), []string{"web=50 api"}, []string{"us"}, []string{"web=50 api"}, nil},
		"weights": {
			slices.Concat(contours, gateways), []string{"us-web=50 eu-web=30 web=20"}, []string{"us"},
			[]string{"us-web=0 eu-web=30 web=20"}, map[string]Outcome{"us": nothing, "eu": served},
		},
		"unset weights, Contour": {contours, []string{"us-web web"}, []string{"us"}, []string{"us-web=0 web=1"}, map[string]Outcome{"us": nothing}},
		"unset weights, Gateway": {gateways, []string{"us-web web"}, []string{"us"}, []string{"us-web=0 web"}, map[string]Outcome{"us": nothing}},
		"unset weights, two backends": {
			contours, []string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, map[string]Outcome{"us": nothing, "eu": sole},
		},
		"unset weights, one of three left": {
			contours, []string{"us-web eu-web web"}, []string{"us", "eu"}, []string{"us-web=0 eu-web=0 web=1"},
			map[string]Outcome{"us": nothing, "eu": nothing},
		},
		"zeros are even distribution, Contour": {contours, []string{"us-web=0 web=0"}, []string{"us"}, []string{"us-web=0 web=1"}, map[string]Outcome{"us": nothing}},
		"zeros are nothing, Gateway":           {gateways, []string{"us-web=0 web=0"}, []string{"us"}, []string{"us-web=0 web=0"}, map[string]Outcome{"us": nothing}},
		"unset beside a weight gets nothing":   {contours, []string{"us-web web=9"}, []string{"us"}, []string{"us-web=0 web=9"}, map[string]Outcome{"us": nothing}},
		"sole backend, Contour":                {contours, []string{"us-web=5"}, []string{"us"}, []string{"us-web=5"}, map[string]Outcome{"us": sole}},
		"sole backend with weight 0, Contour":  {contours, []string{"us-web=0"}, []string{"us"}, []string{"us-web=0"}, map[string]Outcome{"us": sole}},
		"sole backend, Gateway": {
			gateways, []string{"us-web=5"}, []string{"us"}, []string{"us-web=0"}, map[string]Outcome{"us": {Drained: true, NoAlternative: true}},
		},
		"100/0, Contour": {contours, []string{"us-web=100 web=0"}, []string{"us"}, []string{"us-web=100 web=0"}, map[string]Outcome{"us": sole}},
		"100/0, Gateway": {
			gateways, []string{"us-web=100 web=0"}, []string{"us"}, []string{"us-web=0 web=0"},
			map[string]Outcome{"us": {Drained: true, NoAlternative: true}},
		},
		"0/100": {slices.Concat(contours, gateways), []string{"us-web=0 web=100"}, []string{"us"}, []string{"us-web=0 web=100"}, map[string]Outcome{"us": nothing}},
		"both drained, Contour": {
			contours, []string{"us-web=1 eu-web"}, []string{"us", "eu"}, []string{"us-web=1 eu-web"}, map[string]Outcome{"us": sole, "eu": nothing},
		},
		"both drained, Gateway": {
			gateways, []string{"us-web=1 eu-web"}, []string{"us", "eu"}, []string{"us-web=0 eu-web=0"},
			map[string]Outcome{"us": {Drained: true, NoAlternative: true}, "eu": {Drained: true, NoAlternative: true}},
		},
		"would have no alternative": {slices.Concat(contours, gateways), []string{"us-web us-api"}, nil, []string{"us-web us-api"}, map[string]Outcome{"us": sole}},
		"one rule of two has none": {
			contours, []string{"us-web web", "us-web"}, []string{"us"}, []string{"us-web=0 web=1", "us-web"}, map[string]Outcome{"us": sole},
		},
		"the same service twice": {
			slices.Concat(contours, gateways), []string{"us-web=10 web=1 us-web=20"}, []string{"us"}, []string{"us-web=0 web=1 us-web=0"},
			map[string]Outcome{"us": nothing},
		},
		"two ports": {
			slices.Concat(contours, gateways), []string{"us-web=10 us-web:8080=20 web=1"}, []string{"us"}, []string{"us-web=0 us-web:8080=0 web=1"},
			map[string]Outcome{"us": nothing},
		},
		"another namespace":         {gateways, []string{"far/us-web=10 web=1"}, []string{"us"}, []string{"far/us-web=0 web=1"}, map[string]Outcome{"us": nothing}},
		"a tcpproxy":                {contours, []string{"tcpproxy: us-web web"}, []string{"us"}, []string{"tcpproxy: us-web=0 web=1"}, map[string]Outcome{"us": nothing}},
		"a tcpproxy has no mirrors": {contours, []string{"tcpproxy: us-web mirror:web"}, []string{"us"}, []string{"tcpproxy: us-web=0 mirror:web=1"}, map[string]Outcome{"us": nothing}},
		"an Ingress":                {[]string{"Ingress"}, []string{"us-web", "default: web"}, []string{"us"}, []string{"us-web", "default: web"}, map[string]Outcome{"us": sole}},
		"an Ingress with a default": {[]string{"Ingress"}, []string{"web", "default: us-web"}, []string{"us"}, []string{"web", "default: us-web"}, map[string]Outcome{"us": sole}},
		"a mirror is removed, Contour": {
			contours[:1], []string{"mirror:us-web=10 web=2 api"}, []string{"us"}, []string{"web=2 api"}, map[string]Outcome{"us": nothing},
		},
		"a mirror is removed, Gateway": {
			gateways[:2], []string{"web=2 api mirror:eu-web mirror:us-web"}, []string{"us"}, []string{"web=2 api mirror:eu-web"},
			map[string]Outcome{"us": nothing, "eu": served},
		},
		"a mirror is no receiver": {
			contours[:1], []string{"us-web mirror:web"}, []string{"us"}, []string{"us-web mirror:web"}, map[string]Outcome{"us": sole},
		},
		"mirrors and nothing else send nothing": {
			contours[:1], []string{"mirror:us-web"}, []string{"us"}, []string{"mirror:us-web"}, nil,
		},
	} {
		for _, kindName := range test.kinds {
			t.Run(name+"/"+kindName, func(t *testing.T) {
				kind := kindOf(t, kindName)
				object := route(kind, test.rules...)
				before := object.DeepCopy()
				decision := rewrite(t, kind, object, drained(test.drained...))
				if diff := cmp.Diff(test.want, rulesOf(kind, object)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(test.backends, decision.Backends, whatever); diff != "" {
					t.Error(diff)
				}
				if again := kind.View(object.Object).Decide(drained(test.drained...)).Backends; !cmp.Equal(test.backends, again, whatever) {
					t.Error("afterwards:", cmp.Diff(test.backends, again, whatever))
				}
				if written := !cmp.Equal(before.Object, object.Object); written != decision.Write {
					t.Errorf("decision %t, but written %t", decision.Write, written)
				}
				rewrite(t, kind, object, drained())
				if diff := cmp.Diff(before.Object, object.Object); diff != "" {
					t.Errorf("it did not come back: %s", diff)
				}
			})
		}
	}
}

// TestEditsInMaintenance covers edits while backends enter and leave maintenance: in steps of an edit, the drained backends, and
// the result.
func TestEditsInMaintenance(t *testing.T) {
	type step struct {
		rules   []string // the users' edit; nil is none
		drained []string
		want    []string
		forced  int
	}
	for name, test := range map[string]struct {
		kind  string
		steps []step
	}{
		"both drained, released in the order they came": {"HTTPProxy", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{nil, []string{"us", "eu"}, []string{"us-web eu-web"}, 0},
			{nil, []string{"eu"}, []string{"us-web=1 eu-web=0"}, 0},
			{nil, nil, []string{"us-web eu-web"}, 0},
		}},
		"both drained, released in the other order": {"HTTPRoute", []step{
			{[]string{"us-web=7 eu-web"}, []string{"us", "eu"}, []string{"us-web=0 eu-web=0"}, 0},
			{nil, []string{"us"}, []string{"us-web=0 eu-web"}, 0},
			{nil, nil, []string{"us-web=7 eu-web"}, 0},
		}},
		"a new weight is what is wanted": {"HTTPRoute", []step{
			{[]string{"us-web=50 web=50"}, []string{"us"}, []string{"us-web=0 web=50"}, 0},
			{[]string{"us-web=30 web=70"}, []string{"us"}, []string{"us-web=0 web=70"}, 1},
			{nil, nil, []string{"us-web=30 web=70"}, 0},
		}},
		"no weight is what is wanted": {"HTTPRoute", []step{
			{[]string{"us-web=50 web=50"}, []string{"us"}, []string{"us-web=0 web=50"}, 0},
			{[]string{"us-web web=50"}, []string{"us"}, []string{"us-web=0 web=50"}, 1},
			{nil, nil, []string{"us-web web=50"}, 0},
		}},
		"a manifest is applied again": {"HTTPProxy", []step{
			{[]string{"us-web web"}, []string{"us"}, []string{"us-web=0 web=1"}, 0},
			{[]string{"us-web web"}, []string{"us"}, []string{"us-web=0 web=1"}, 2},
			{nil, nil, []string{"us-web web"}, 0},
		}},
		"a route that is edited when all is over": {"HTTPProxy", []step{
			{[]string{"us-web=50 web=50"}, []string{"us"}, []string{"us-web=0 web=50"}, 0},
			{[]string{"us-web=60 web=40"}, nil, []string{"us-web=60 web=40"}, 0},
		}},
		"rules change places": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1", "b: us-web=2 web=1", "c: web"}, []string{"us"}, []string{"a: us-web=0 web=1", "b: us-web=0 web=1", "c: web"}, 0},
			{[]string{"b: us-web=0 web=1", "a: us-web=0 web=1", "c: web"}, []string{"us"}, []string{"b: us-web=0 web=1", "a: us-web=0 web=1", "c: web"}, 0},
			{nil, nil, []string{"b: us-web=2 web=1", "a: us-web=1 web=1", "c: web"}, 0},
		}},
		"rules get other conditions and move": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1", "b: us-web=2 api=1"}, []string{"us"}, []string{"a: us-web=0 web=1", "b: us-web=0 api=1"}, 0},
			{[]string{"n: web", "d: us-web=0 api=1", "c: us-web=0 web=1"}, []string{"us"}, []string{"n: web", "d: us-web=0 api=1", "c: us-web=0 web=1"}, 0},
			{nil, nil, []string{"n: web", "d: us-web=2 api=1", "c: us-web=1 web=1"}, 0},
		}},
		"a rule gets other conditions, one that was like it has been deleted": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1", "b: us-web=2 web=1"}, []string{"us"}, []string{"a: us-web=0 web=1", "b: us-web=0 web=1"}, 0},
			{[]string{"n: db", "d: us-web=0 web=1"}, []string{"us"}, []string{"n: db", "d: us-web=0 web=1"}, 0},
			{nil, nil, []string{"n: db", "d: us-web=2 web=1"}, 0},
		}},
		"a rule is rewritten where it stands": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1", "b: us-web=2 api=1"}, []string{"us"}, []string{"a: us-web=0 web=1", "b: us-web=0 api=1"}, 0},
			{[]string{"n: db", "d: us-web=0 api=1 db=1"}, []string{"us"}, []string{"n: db", "d: us-web=0 api=1 db=1"}, 0},
			{nil, nil, []string{"n: db", "d: us-web=2 api=1 db=1"}, 0},
		}},
		"a rule is rewritten and moves": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1"}, []string{"us"}, []string{"a: us-web=0 web=1"}, 0},
			{[]string{"n: db", "d: us-web=0 web=1 db=1"}, []string{"us"}, []string{"n: db", "d: us-web=0 web=1 db=1"}, 0},
			{nil, nil, []string{"n: db", "d: us-web=1 web=1 db=1"}, 0},
		}},
		"a service is added before its like": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"us-web=7 api us-web=0 web=5"}, []string{"us"}, []string{"us-web=0 api us-web=0 web=5"}, 0},
			{nil, nil, []string{"us-web=7 api us-web=5 web=5"}, 0},
		}},
		"one of two like services gets another weight": {"HTTPRoute", []step{
			{[]string{"us-web=10 web=5 us-web=20"}, []string{"us"}, []string{"us-web=0 web=5 us-web=0"}, 0},
			{[]string{"us-web=7 web=5 us-web=0"}, []string{"us"}, []string{"us-web=0 web=5 us-web=0"}, 1},
			{nil, nil, []string{"us-web=7 web=5 us-web=20"}, 0},
		}},
		"a service is removed, one wanted at zero stays": {"HTTPRoute", []step{
			{[]string{"us-web=0 us-web:81=6 web=5"}, []string{"us"}, []string{"us-web=0 us-web:81=0 web=5"}, 0},
			{[]string{"us-web=0 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{nil, nil, []string{"us-web=0 web=5"}, 0},
		}},
		"a rule is removed, one like it stays": {"HTTPProxy", []step{
			{[]string{"a: us-web=5 web=1 mirror:us-api", "b: us-web=0 web=1"}, []string{"us"}, []string{"a: us-web=0 web=1", "b: us-web=0 web=1"}, 0},
			{[]string{"b: us-web=0 web=1"}, []string{"us"}, []string{"b: us-web=0 web=1"}, 0},
			{nil, nil, []string{"b: us-web=0 web=1"}, 0},
		}},
		"equal rules move": {"HTTPProxy", []step{
			{[]string{"a: us-web=1 web=1", "a: us-web=2 web=1"}, []string{"us"}, []string{"a: us-web=0 web=1", "a: us-web=0 web=1"}, 0},
			{[]string{"c: web", "a: us-web=0 web=1", "a: us-web=0 web=1"}, []string{"us"}, []string{"c: web", "a: us-web=0 web=1", "a: us-web=0 web=1"}, 0},
			{nil, nil, []string{"c: web", "a: us-web=1 web=1", "a: us-web=2 web=1"}, 0},
		}},
		"a service is added": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"api=1 us-web=0 web=5 us-api=4"}, []string{"us"}, []string{"api=1 us-web=0 web=5 us-api=0"}, 0},
			{nil, nil, []string{"api=1 us-web=5 web=5 us-api=4"}, 0},
		}},
		"a rule is added before": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"api us-api=2", "us-web=0 web=5"}, []string{"us"}, []string{"api us-api=0", "us-web=0 web=5"}, 0},
			{nil, nil, []string{"api us-api=2", "us-web=5 web=5"}, 0},
		}},
		"a rule is removed": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5", "us-api=6 api=1"}, []string{"us"}, []string{"us-web=0 web=5", "us-api=0 api=1"}, 0},
			{[]string{"us-api=0 api=1"}, []string{"us"}, []string{"us-api=0 api=1"}, 0},
			{nil, nil, []string{"us-api=6 api=1"}, 0},
		}},
		"a rule with a name moves and is edited": {"HTTPRoute", []step{
			{[]string{"a: us-web=5 web=5", "b: us-web=6 web=5"}, []string{"us"}, []string{"a: us-web=0 web=5", "b: us-web=0 web=5"}, 0},
			{[]string{"b: us-web=0 web=1", "a: us-web=0 api=1"}, []string{"us"}, []string{"b: us-web=0 web=1", "a: us-web=0 api=1"}, 0},
			{nil, nil, []string{"b: us-web=6 web=1", "a: us-web=5 api=1"}, 0},
		}},
		"a port is edited": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"us-web:81=0 web=5"}, []string{"us"}, []string{"us-web:81=0 web=5"}, 0},
			{nil, nil, []string{"us-web:81=5 web=5"}, 0},
		}},
		"all get the weight that the others were given": {"HTTPProxy", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{[]string{"us-web=1 eu-web=1"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 1},
			{nil, nil, []string{"us-web=1 eu-web=1"}, 0},
		}},
		"all get the weight that the others were given, and are Enabled": {"IngressRoute", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{[]string{"us-web=1 eu-web=1"}, nil, []string{"us-web=1 eu-web=1"}, 0},
		}},
		"the drained one gets a weight": {"HTTPProxy", []step{
			{[]string{"us-web=0 eu-web=0 web"}, []string{"us"}, []string{"us-web=0 eu-web=1 web=1"}, 0},
			{[]string{"us-web=7 eu-web=1 web=1"}, []string{"us"}, []string{"us-web=0 eu-web=1 web=1"}, 1},
			{nil, nil, []string{"us-web=7 eu-web=1 web=1"}, 0},
		}},
		"one of the others gets a weight": {"HTTPProxy", []step{
			{[]string{"us-web eu-web web"}, []string{"us"}, []string{"us-web=0 eu-web=1 web=1"}, 0},
			{[]string{"us-web=0 eu-web=5 web=1"}, []string{"us"}, []string{"us-web=0 eu-web=5 web=1"}, 0},
			{nil, nil, []string{"us-web eu-web=5 web=1"}, 0},
		}},
		"a service with a weight is added": {"HTTPProxy", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{[]string{"us-web=0 eu-web=1 web=5"}, []string{"us"}, []string{"us-web=0 eu-web=1 web=5"}, 0},
			{nil, nil, []string{"us-web eu-web=1 web=5"}, 0},
		}},
		"a service without a weight is added": {"HTTPProxy", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{[]string{"us-web=0 eu-web=1 web"}, []string{"us"}, []string{"us-web=0 eu-web=1 web=1"}, 0},
			{nil, nil, []string{"us-web eu-web web"}, 0},
		}},
		"a drained service is renamed": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"us-api=0 web=5"}, []string{"us"}, []string{"us-api=0 web=5"}, 0},
			{nil, nil, []string{"us-api=5 web=5"}, 0},
		}},
		"a drained service is replaced by another backend's": {"HTTPRoute", []step{
			{[]string{"us-web=5 web=5"}, []string{"us"}, []string{"us-web=0 web=5"}, 0},
			{[]string{"eu-web=0 web=5"}, []string{"us"}, []string{"eu-web=5 web=5"}, 0},
			{nil, nil, []string{"eu-web=5 web=5"}, 0},
		}},
		"the sole service is replaced by another backend's": {"HTTPRoute", []step{
			{[]string{"/sole: us-web"}, []string{"us"}, []string{"/sole: us-web=0"}, 0},
			{[]string{"/sole: eu-web=0"}, []string{"us"}, []string{"/sole: eu-web"}, 0},
			{nil, nil, []string{"/sole: eu-web"}, 0},
		}},
		"the sole service is renamed, and its rule moves": {"HTTPRoute", []step{
			{[]string{"/sole: us-web=4"}, []string{"us"}, []string{"/sole: us-web=0"}, 0},
			{[]string{"/new: web", "/sole: us-api=0"}, []string{"us"}, []string{"/new: web", "/sole: us-api=0"}, 0},
			{nil, nil, []string{"/new: web", "/sole: us-api=4"}, 0},
		}},
		"a service that was given a weight is renamed": {"HTTPProxy", []step{
			{[]string{"us-web eu-web"}, []string{"us"}, []string{"us-web=0 eu-web=1"}, 0},
			{[]string{"us-web=0 web=1"}, []string{"us"}, []string{"us-web=0 web=1"}, 0},
			{nil, nil, []string{"us-web web"}, 0},
		}},
		"the services of a tcpproxy are renamed, and one becomes another's": {"HTTPProxy", []step{
			{[]string{"tcpproxy: us-web us-api eu-web"}, []string{"us"}, []string{"tcpproxy: us-web=0 us-api=0 eu-web=1"}, 0},
			{[]string{"tcpproxy: us-db=0 eu-api=0 eu-db=1"}, []string{"us"}, []string{"tcpproxy: us-db=0 eu-api=1 eu-db=1"}, 0},
			{nil, nil, []string{"tcpproxy: us-db eu-api eu-db"}, 0},
		}},
		"a drained service is renamed like another one of the rule": {"HTTPRoute", []step{
			{[]string{"us-web=50 eu-web=30"}, []string{"us"}, []string{"us-web=0 eu-web=30"}, 0},
			{[]string{"eu-web=0 eu-web=30"}, []string{"us"}, []string{"eu-web=50 eu-web=30"}, 0},
		}},
		"a drained service is removed, and one with weight 0 is added at the end": {"HTTPRoute", []step{
			{[]string{"us-web=50 eu-web=30"}, []string{"us"}, []string{"us-web=0 eu-web=30"}, 0},
			{[]string{"eu-web=30 web=0"}, []string{"us"}, []string{"eu-web=30 web=0"}, 0},
			{nil, nil, []string{"eu-web=30 web=0"}, 0},
		}},
		"a drained service is removed, and one wanted at zero takes its position": {"HTTPRoute", []step{
			{[]string{"us-web=50 web=0 eu-web=1"}, []string{"us"}, []string{"us-web=0 web=0 eu-web=1"}, 0},
			{[]string{"web=0 eu-web=1"}, []string{"us"}, []string{"web=0 eu-web=1"}, 0},
			{nil, nil, []string{"web=0 eu-web=1"}, 0},
		}},
		"a mirror is put back by others": {"HTTPProxy", []step{
			{[]string{"web=1 mirror:us-web=10 api=1"}, []string{"us"}, []string{"web=1 api=1"}, 0},
			{[]string{"mirror:us-web=20 web=1 api=1"}, []string{"us"}, []string{"web=1 api=1"}, 1},
			{nil, nil, []string{"mirror:us-web=20 web=1 api=1"}, 0},
		}},
		"mirrors of two backends": {"HTTPRoute", []step{
			{[]string{"web mirror:us-web mirror:api mirror:eu-web"}, []string{"us", "eu"}, []string{"web mirror:api"}, 0},
			{nil, []string{"eu"}, []string{"web mirror:us-web mirror:api"}, 0},
			{nil, nil, []string{"web mirror:us-web mirror:api mirror:eu-web"}, 0},
		}},
		"a mirror in a list that became shorter": {"HTTPProxy", []step{
			{[]string{"web=1 api=1 mirror:us-web"}, []string{"us"}, []string{"web=1 api=1"}, 0},
			{[]string{"web=1"}, []string{"us"}, []string{"web=1"}, 0},
			{nil, nil, []string{"web=1 mirror:us-web"}, 0},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			object := route(kind, test.steps[0].rules...)
			for i, step := range test.steps {
				if step.rules != nil {
					object.Object["spec"] = route(kind, step.rules...).Object["spec"]
				}
				decision := rewrite(t, kind, object, drained(step.drained...))
				if diff := cmp.Diff(step.want, rulesOf(kind, object)); diff != "" {
					t.Fatalf("step %d: %s", i, diff)
				}
				if decision.Forced != step.forced {
					t.Errorf("step %d: %d forced, want %d", i, decision.Forced, step.forced)
				}
			}
			if len(test.steps[len(test.steps)-1].drained) == 0 && object.GetAnnotations()[gimbalv1.AnnotationSavedWeights] != "" {
				t.Error("a record is left")
			}
		})
	}
}

// TestKeepSole checks that a backend with KeepSole continues to serve where there is no alternative, in all kinds; of two backends,
// the one with KeepSole does.
func TestKeepSole(t *testing.T) {
	for name, test := range map[string]struct {
		kind, rule, want string
		backends         map[string]Outcome
	}{
		"sole, Contour":         {"HTTPProxy", "us-web", "us-web", map[string]Outcome{"us": {NoAlternative: true}}},
		"sole, Gateway":         {"HTTPRoute", "us-web", "us-web", map[string]Outcome{"us": {NoAlternative: true}}},
		"100/0, Gateway":        {"HTTPRoute", "us-web=100 web=0", "us-web=100 web=0", map[string]Outcome{"us": {NoAlternative: true}}},
		"an alternative":        {"HTTPRoute", "us-web web", "us-web=0 web", map[string]Outcome{"us": {Drained: true}}},
		"beside strict":         {"HTTPRoute", "us-web eu-web", "us-web eu-web=0", map[string]Outcome{"us": {NoAlternative: true}, "eu": {Drained: true}}},
		"beside strict,Contour": {"HTTPProxy", "us-web eu-web", "us-web=1 eu-web=0", map[string]Outcome{"us": {NoAlternative: true}, "eu": {Drained: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			object := route(kind, test.rule)
			decision := rewrite(t, kind, object, fleet{drained: []string{"us", "eu"}, keepSole: []string{"us"}})
			if diff := cmp.Diff([]string{test.want}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.backends, decision.Backends, whatever); diff != "" {
				t.Error(diff)
			}
			rewrite(t, kind, object, drained())
			if diff := cmp.Diff([]string{test.rule}, rulesOf(kind, object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
