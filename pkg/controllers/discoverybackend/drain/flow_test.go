// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestFlows checks the share of requests that a rule sends to each target: by its weights, as users specified, and after the next
// write.
func TestFlows(t *testing.T) {
	for name, test := range map[string]struct {
		kind, rule string
		fleet      fleet
		// want is per reference: Service, now/wanted/next in percent, and what is remarkable.
		want string
	}{
		"nothing drained":              {"HTTPProxy", "us-web=70 eu-web=30", fleet{}, "us-web 70/70/70, eu-web 30/30/30"},
		"one drained":                  {"HTTPProxy", "us-web=70 eu-web=30", fleet{drained: []string{"us"}}, "us-web 70/70/0 drained, eu-web 30/30/100 sole withheld"},
		"even distribution":            {"HTTPProxy", "us-web eu-web", fleet{}, "us-web 50/50/50, eu-web 50/50/50"},
		"of no backend":                {"HTTPRoute", "us-web=50 web=50", fleet{drained: []string{"us"}}, "us-web 50/50/0 drained, web 50/50/100"},
		"no other one, Contour":        {"HTTPProxy", "us-web", fleet{drained: []string{"us"}}, "us-web 100/100/100 drained sole withheld"},
		"no other one, Gateway":        {"HTTPRoute", "us-web", fleet{drained: []string{"us"}}, "us-web 100/100/0 drained sole withheld"},
		"no other one, kept":           {"HTTPRoute", "us-web", fleet{drained: []string{"us"}, keepSole: []string{"us"}}, "us-web 100/100/100 sole withheld"},
		"the other one is empty":       {"HTTPRoute", "us-web eu-web", fleet{drained: []string{"us"}, empty: []string{"eu-web"}}, "us-web 50/50/0 drained sole, eu-web 50/50/100 sole withheld"},
		"missing, Contour":             {"HTTPProxy", "us-web eu-web", fleet{missing: []string{"eu-web"}}, "us-web 100/100/100 sole withheld, eu-web 0/0/0 missing"},
		"missing gets errors, Gateway": {"HTTPRoute", "us-web eu-web", fleet{missing: []string{"eu-web"}}, "us-web 50/50/50 sole withheld, eu-web 50/50/50 missing"},
		"nothing by weights, Gateway":  {"HTTPRoute", "us-web=0 eu-web=0", fleet{}, "us-web 0/0/0, eu-web 0/0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			flows := kind.View(route(kind, test.rule).Object).Flows(test.fleet)
			if len(flows) != 1 {
				t.Fatalf("flows = %+v, want those of one rule", flows)
			}
			if got := describeParts(flows[0].Parts); got != test.want {
				t.Errorf("parts = %s, want %s", got, test.want)
			}
		})
	}
}

// TestFlowsReadSavedWeights checks that, once a drain is written, the saved weights are the desired ones.
func TestFlowsReadSavedWeights(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	object := route(kind, "us-web=70 eu-web=30")
	rewrite(t, kind, object, drained("us"))
	if got, want := describeParts(kind.View(object.Object).Flows(drained())[0].Parts), "us-web 0/70/70, eu-web 100/30/30"; got != want {
		t.Errorf("parts = %s, want %s", got, want)
	}
}

func describeParts(parts []Part) string {
	var all []string
	for _, p := range parts {
		words := []string{p.Service.Name, fmt.Sprintf("%.0f/%.0f/%.0f", 100*p.Now, 100*p.Wanted, 100*p.Next)}
		for word, holds := range map[string]bool{"drained": p.Drained, "missing": p.Target.Missing, "sole": p.NoAlternative, "withheld": p.Withheld} {
			if holds {
				words = append(words, word)
			}
		}
		slices.Sort(words[2:])
		all = append(all, strings.Join(words, " "))
	}
	return strings.Join(all, ", ")
}
