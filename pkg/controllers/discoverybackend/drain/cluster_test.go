// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSameCluster checks that the requests for a backend never move to another backend of its cluster.
func TestSameCluster(t *testing.T) {
	same := map[string]string{"us": "c", "copy": "c"}
	for name, tc := range map[string]struct {
		kind   string
		before string
		fleet  fleet
		want   string
		// drained, alone and withheld describe the outcome of the backend us.
		drained, alone, withheld bool
	}{
		"another cluster takes all of it":      {kind: "HTTPRoute", before: "us-web=40 copy-web=40 eu-web=20", fleet: drained("us"), want: "us-web=0 copy-web=40 eu-web=60", drained: true},
		"the same in Contour":                  {kind: "HTTPProxy", before: "us-web=40 copy-web=40 eu-web=20", fleet: drained("us"), want: "us-web=0 copy-web=40 eu-web=60", drained: true},
		"no weights":                           {kind: "HTTPRoute", before: "us-web copy-web eu-web", fleet: drained("us"), want: "us-web=0 copy-web=3333 eu-web=6667", drained: true},
		"no weights in Contour":                {kind: "HTTPProxy", before: "us-web copy-web eu-web", fleet: drained("us"), want: "us-web=0 copy-web=3333 eu-web=6667", drained: true},
		"Services of no backend take it":       {kind: "TCPRoute", before: "us-web=50 copy-web=25 web=25", fleet: drained("us"), want: "us-web=0 copy-web=25 web=75", drained: true},
		"two others take it by their weights":  {kind: "HTTPRoute", before: "us-web=40 copy-web=20 eu-web=30 web=10", fleet: drained("us"), want: "us-web=0 copy-web=20 eu-web=60 web=20", drained: true},
		"nothing but the same cluster":         {kind: "HTTPRoute", before: "us-web=50 copy-web=50", fleet: drained("us"), want: "us-web=50 copy-web=50", alone: true, withheld: true},
		"nothing but the same in Contour":      {kind: "HTTPProxy", before: "us-web=50 copy-web=50", fleet: drained("us"), want: "us-web=50 copy-web=50", alone: true, withheld: true},
		"nothing but the same, KeepSole":       {kind: "HTTPRoute", before: "us-web=50 copy-web=50", fleet: fleet{drained: []string{"us"}, keepSole: []string{"us"}}, want: "us-web=50 copy-web=50", alone: true, withheld: true},
		"the other gets nothing":               {kind: "HTTPRoute", before: "us-web=50 copy-web=50 eu-web=0", fleet: drained("us"), want: "us-web=50 copy-web=50 eu-web=0", alone: true, withheld: true},
		"the other has no endpoint":            {kind: "HTTPRoute", before: "us-web=50 copy-web=30 eu-web=20", fleet: fleet{drained: []string{"us"}, empty: []string{"eu-web"}}, want: "us-web=0 copy-web=30 eu-web=70", drained: true, alone: true},
		"KeepSole, the other has no endpoint":  {kind: "HTTPRoute", before: "us-web=50 copy-web=30 eu-web=20", fleet: fleet{drained: []string{"us"}, keepSole: []string{"us"}, empty: []string{"eu-web"}}, want: "us-web=50 copy-web=30 eu-web=20", alone: true},
		"KeepSole, another one serves":         {kind: "HTTPRoute", before: "us-web=50 copy-web=30 eu-web=20", fleet: fleet{drained: []string{"us"}, keepSole: []string{"us"}}, want: "us-web=0 copy-web=30 eu-web=70", drained: true},
		"all of the cluster are drained":       {kind: "HTTPRoute", before: "us-web=40 copy-web=40 eu-web=20", fleet: drained("us", "copy"), want: "us-web=0 copy-web=0 eu-web=20", drained: true},
		"all are drained, and nothing else":    {kind: "HTTPRoute", before: "us-web=40 copy-web=40", fleet: drained("us", "copy"), want: "us-web=0 copy-web=0", drained: true, alone: true, withheld: true},
		"one of another cluster is drained":    {kind: "HTTPRoute", before: "us-web=40 copy-web=40 eu-web=20", fleet: drained("eu"), want: "us-web=40 copy-web=40 eu-web=0", alone: true, withheld: true},
		"one of each cluster is drained":       {kind: "HTTPRoute", before: "us-web=40 copy-web=40 eu-web=20", fleet: drained("us", "eu"), want: "us-web=40 copy-web=60 eu-web=0", alone: true, withheld: true},
		"half of it has moved":                 {kind: "HTTPRoute", before: "us-web=40 copy-web=40 eu-web=20", fleet: fleet{shares: map[string]int{"us": 50}}, want: "us-web=20 copy-web=40 eu-web=40"},
		"half of it would move to the same":    {kind: "HTTPRoute", before: "us-web=50 copy-web=50", fleet: fleet{shares: map[string]int{"us": 50}}, want: "us-web=50 copy-web=50", alone: true, withheld: true},
		"large weights":                        {kind: "HTTPRoute", before: "us-web=1000000 copy-web=999999 eu-web=1", fleet: drained("us"), want: "us-web=0 copy-web=50 eu-web=50", drained: true},
		"never nothing":                        {kind: "HTTPRoute", before: "us-web=500000 copy-web=1 eu-web=500000", fleet: drained("us"), want: "us-web=0 copy-web=1 eu-web=999999", drained: true},
		"a Service that does not exist":        {kind: "HTTPProxy", before: "us-web=40 copy-web=40 eu-web=20 web=5", fleet: fleet{drained: []string{"us"}, missing: []string{"web"}}, want: "us-web=0 copy-web=40 eu-web=60 web=5", drained: true},
		"a drained Service that gets nothing":  {kind: "HTTPProxy", before: "us-web=40 copy-web=40 eu-web=20 us-api", fleet: drained("us"), want: "us-web=0 copy-web=40 eu-web=60 us-api=0", drained: true},
		"the other one does not exist":         {kind: "HTTPProxy", before: "us-web=40 copy-web=40 eu-web=20", fleet: fleet{drained: []string{"us"}, missing: []string{"copy-web"}}, want: "us-web=0 copy-web=40 eu-web=20", drained: true},
		"only the same cluster besides a dead": {kind: "HTTPProxy", before: "us-web=40 copy-web=40 eu-web=20", fleet: fleet{drained: []string{"us"}, missing: []string{"eu-web"}}, want: "us-web=40 copy-web=40 eu-web=20", alone: true, withheld: true},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, tc.kind)
			object := route(kind, tc.before)
			original := object.DeepCopy()
			tc.fleet.clusters = same
			if tc.want != tc.before {
				rewrite(t, kind, object, tc.fleet)
			}
			if diff := gocmp.Diff([]string{tc.want}, rulesOf(kind, object)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			again := kind.View(object.Object).Decide(tc.fleet)
			if again.Write || again.Forced > 0 {
				t.Errorf("it is written again: %+v", again)
			}
			us := again.Backends["us"]
			if us.Drained != tc.drained || us.NoAlternative != tc.alone || len(us.Withhold) > 0 != tc.withheld {
				t.Errorf("outcome = %+v, want drained %t, without alternative %t, withheld %t", us, tc.drained, tc.alone, tc.withheld)
			}
			rewrite(t, kind, object, fleet{missing: tc.fleet.missing})
			if diff := gocmp.Diff(original.Object, object.Object); diff != "" {
				t.Errorf("it did not come back (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSameClusterNeverGetsMore checks over random rules that a backend gets nothing of what is taken from another one of its
// cluster, that a drained one gets nothing, and that nothing is left of it afterwards.
func TestSameClusterNeverGetsMore(t *testing.T) {
	names := []string{"us", "copy", "third", "eu", "eu2", "asia"}
	clusters := map[string]string{"us": "c", "copy": "c", "third": "c", "eu": "d", "eu2": "d"}
	for _, kindName := range []string{"HTTPProxy", "HTTPRoute", "TCPRoute"} {
		t.Run(kindName, func(t *testing.T) {
			kind := kindOf(t, kindName)
			rapid.Check(t, func(t *rapid.T) {
				var refs []string
				f := fleet{clusters: clusters, shares: map[string]int{}}
				for _, name := range names {
					if !rapid.Bool().Draw(t, name) {
						continue
					}
					weight := rapid.SampledFrom([]string{"", "=0", "=1", "=7", "=100", "=1000000"}).Draw(t, "weight")
					refs = append(refs, name+"-web"+weight)
					f.shares[name] = rapid.SampledFrom([]int{0, 0, 10, 50, 90, 100, 100}).Draw(t, "share of "+name)
				}
				if len(refs) == 0 {
					return
				}
				object := route(kind, strings.Join(refs, " "))
				original := object.DeepCopy()
				changes := func(f fleet) {
					for range 3 {
						view := kind.View(object.Object)
						decision := view.Decide(f)
						if !decision.Write && !decision.HandBack {
							return
						}
						if _, err := kind.Rewrite(object, f); err != nil {
							t.Fatal(err)
						}
						if _, err := HandBack(object); err != nil {
							t.Fatal(err)
						}
					}
					t.Fatalf("%v is written again and again", rulesOf(kind, object))
				}
				changes(f)
				view := kind.View(object.Object)
				outcomes := view.Decide(f).Backends
				for _, part := range view.Flows(f)[0].Parts {
					moved := slices.ContainsFunc(names, func(name string) bool {
						return name != part.Backend && f.shares[name] < f.shares[part.Backend] && f.ClusterOf(name) != f.ClusterOf(part.Backend)
					})
					if !moved && part.Now > part.Wanted+0.002 && hasTwin(refs, f, part.Backend) {
						t.Fatalf("%s gets %.3f, wanted are %.3f: %v", part.Backend, part.Now, part.Wanted, fmt.Sprint(refs, f.shares, rulesOf(kind, object)))
					}
					if outcomes[part.Backend].Drained && part.Now > 0 {
						t.Fatalf("%s is drained and gets %.3f: %v", part.Backend, part.Now, rulesOf(kind, object))
					}
				}
				changes(fleet{})
				if diff := gocmp.Diff(original.Object, object.Object); diff != "" {
					t.Fatalf("it did not come back (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// hasTwin reports whether a rule has another backend of the same cluster whose share is smaller, which is what its share must not
// grow by.
func hasTwin(refs []string, f fleet, backend string) bool {
	return slices.ContainsFunc(refs, func(ref string) bool {
		name, _, _ := strings.Cut(ref, "-")
		return name != backend && f.ClusterOf(name) == f.ClusterOf(backend) && f.shares[name] < f.shares[backend]
	})
}
