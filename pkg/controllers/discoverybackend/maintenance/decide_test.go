// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestPlan(t *testing.T) {
	sole := []string{"HTTPProxy shop/a"}
	web := sets.New(types.NamespacedName{Namespace: "shop", Name: "us-web"})
	sending := []problem{{"HTTPProxy shop/c", "ExternalName"}}
	rejected := []problem{{"HTTPProxy shop/b", "frozen"}}
	keep := func(b *gimbalv1.DiscoveryBackend) { b.Cluster.DrainPolicy = gimbalv1.DrainKeepSole }
	withheld := func(b *gimbalv1.DiscoveryBackend) { b.Status.EndpointsDrained = true }
	grace := func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.DrainGracePeriod = &metav1.Duration{Duration: time.Minute}
	}
	since := func(ago time.Duration) func(*gimbalv1.DiscoveryBackend) {
		return func(b *gimbalv1.DiscoveryBackend) {
			grace(b)
			b.Status.Routes = &gimbalv1.RouteStatus{DrainedTime: new(metav1.NewTime(noon.Add(-ago)))}
		}
	}
	none := func(*gimbalv1.DiscoveryBackend) {}
	for name, tc := range map[string]struct {
		phase     phase
		backend   func(*gimbalv1.DiscoveryBackend)
		facts     facts
		endpoints endpoints
		// want is Status/Reason, withheld when the endpoints are to be, drained routes, and when to recheck.
		want string
	}{
		"enabled, no routes":               {phaseEnabled, none, facts{}, endpoints{}, "False/Enabled 0 0s"},
		"enabled":                          {phaseEnabled, none, facts{matching: 3, sole: sole}, endpoints{}, "False/Enabled 0 0s"},
		"restoring weights":                {phaseEnabled, none, facts{matching: 3, left: 1}, endpoints{}, "False/Restoring 0 0s"},
		"restoring endpoints":              {phaseHeld, withheld, facts{matching: 3, left: 3, drained: 3}, endpoints{}, "False/Restoring 0 0s"},
		"a route cannot be restored":       {phaseEnabled, none, facts{matching: 3, rejected: rejected}, endpoints{}, "False/Refused 0 0s"},
		"maintenance without routes":       {phaseDraining, none, facts{}, endpoints{}, "True/Drained 0 0s"},
		"draining":                         {phaseDraining, none, facts{matching: 3, left: 2, drained: 1}, endpoints{}, "False/Draining 1 0s"},
		"a route is rejected":              {phaseDraining, none, facts{matching: 3, drained: 2, rejected: rejected}, endpoints{}, "False/Refused 2 0s"},
		"others are not done yet":          {phaseDraining, none, facts{matching: 3, left: 1, drained: 1, rejected: rejected}, endpoints{}, "False/Draining 1 0s"},
		"drained":                          {phaseDraining, none, facts{matching: 3, drained: 3}, endpoints{}, "True/Drained 3 0s"},
		"the grace period begins":          {phaseDraining, grace, facts{matching: 3, drained: 3}, endpoints{}, "False/GracePeriod 3 1m0s"},
		"it continues":                     {phaseDraining, since(45 * time.Second), facts{matching: 3, drained: 3}, endpoints{}, "False/GracePeriod 3 15s"},
		"it is over":                       {phaseDraining, since(time.Minute), facts{matching: 3, drained: 3}, endpoints{}, "True/Drained 3 0s"},
		"sole, in the grace period":        {phaseDraining, grace, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{}, "False/GracePeriod 2 1m0s"},
		"sole, weights are written":        {phaseDraining, none, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{}, "False/Draining withheld 2 0s"},
		"sole, weights are not":            {phaseDraining, none, facts{matching: 3, left: 1, drained: 1, serving: 1, sole: sole, withhold: web}, endpoints{}, "False/Draining 1 0s"},
		"sole, the status is written":      {phaseDraining, withheld, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{}, "False/Draining withheld 2 0s"},
		"sole, endpoints are left":         {phaseDraining, withheld, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{true, 4}, "False/Draining withheld 2 0s"},
		"sole, drained":                    {phaseDraining, withheld, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{true, 0}, "True/Drained withheld 3 0s"},
		"an alternative is not ready":      {phaseDraining, none, facts{matching: 3, drained: 3, sole: sole}, endpoints{}, "True/Drained 3 0s"},
		"sole, a copy is still ready":      {phaseDraining, withheld, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web, unsettled: 1}, endpoints{true, 0}, "False/Draining withheld 2 0s"},
		"nothing keeps requests away":      {phaseDraining, withheld, facts{matching: 3, drained: 2, sole: sole, withhold: web, sending: sending}, endpoints{true, 0}, "False/StillReceiving withheld 2 0s"},
		"the same, kept":                   {phaseDraining, keep, facts{matching: 3, drained: 2, sole: sole, withhold: web, sending: sending}, endpoints{}, "True/Drained 2 0s"},
		"sole, a new route comes":          {phaseDraining, withheld, facts{matching: 4, left: 1, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{true, 0}, "False/Draining withheld 3 0s"},
		"sole, kept":                       {phaseDraining, keep, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{}, "True/Drained 2 0s"},
		"sole, kept after all":             {phaseDraining, func(b *gimbalv1.DiscoveryBackend) { keep(b); withheld(b) }, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{true, 0}, "True/Drained 3 0s"},
		"none will be sole any more":       {phaseDraining, withheld, facts{matching: 3, left: 1, drained: 2}, endpoints{true, 0}, "False/Draining withheld 2 0s"},
		"none is sole any more":            {phaseDraining, withheld, facts{matching: 3, drained: 3}, endpoints{true, 0}, "True/Drained 3 0s"},
		"sole, but a route is rejected":    {phaseDraining, none, facts{matching: 3, drained: 1, serving: 1, sole: sole, withhold: web, rejected: rejected}, endpoints{}, "False/Refused 1 0s"},
		"withheld, then one is rejected":   {phaseDraining, withheld, facts{matching: 3, drained: 1, serving: 1, sole: sole, withhold: web, rejected: rejected}, endpoints{true, 0}, "False/Refused withheld 2 0s"},
		"withheld, and the grace restarts": {phaseDraining, func(b *gimbalv1.DiscoveryBackend) { withheld(b); grace(b) }, facts{matching: 3, drained: 2, serving: 1, sole: sole, withhold: web}, endpoints{true, 0}, "False/GracePeriod withheld 3 1m0s"},
	} {
		backend := &gimbalv1.DiscoveryBackend{}
		backend.Cluster.DrainPolicy = gimbalv1.DrainStrict
		tc.backend(backend)
		p := planFor(backend, tc.phase, tc.facts, tc.endpoints, noon, noon)
		got := string(p.condition.Status) + "/" + p.condition.Reason
		if p.withhold {
			got += " withheld"
		}
		if got += fmt.Sprintf(" %d %s", p.routes.Drained, p.after); got != tc.want {
			t.Errorf("%s:\ngot  %s (%s)\nwant %s", name, got, p.condition.Message, tc.want)
		}
		if done := p.condition.Status == metav1.ConditionTrue || p.condition.Reason == reasonGracePeriod || p.withhold && tc.facts.left == 0 && len(tc.facts.rejected) == 0; (p.routes.DrainedTime != nil) != done {
			t.Errorf("%s: drained since %v", name, p.routes.DrainedTime)
		}
	}
}

// TestErrorsOf checks that the errors name each route, the most severe first, and are limited.
func TestErrorsOf(t *testing.T) {
	backend := &gimbalv1.DiscoveryBackend{}
	f := facts{sole: []string{"A"}, rejected: []problem{{"B", "frozen"}}, lost: []problem{{"C", "rule 1"}}, sending: []problem{{"D", "x"}}}
	var types []string
	for _, entry := range errorsOf(backend, phaseDraining, f) {
		types = append(types, entry.Type+" "+entry.Message[:1])
	}
	if got := strings.Join(types, ", "); got != "RouteRefused B, WeightsLost C, StillReceiving D, NoAlternative A" {
		t.Error(got)
	}
	if got := errorsOf(backend, phaseEnabled, f); len(got) != 2 {
		t.Errorf("while Enabled: %+v", got)
	}
	for i := range 100 {
		f.sole = append(f.sole, fmt.Sprint(i))
	}
	if got := len(errorsOf(backend, phaseDraining, f)); got != gimbalv1.MaxErrorsPerWriter {
		t.Errorf("%d entries", got)
	}
	p := planFor(backend, phaseEnabled, f, endpoints{}, noon, noon)
	if got := p.routes.WithoutAlternative; len(got.Names) != gimbalv1.MaxRouteNames || got.Count != 101 {
		t.Errorf("%d names of %d", len(got.Names), got.Count)
	}
}

func TestNames(t *testing.T) {
	for all, want := range map[string]string{"": "", "a b c": "a, b, c", "a b c d e": "a, b, c and 2 more"} {
		if got := names(strings.Fields(all)); got != want {
			t.Errorf("%q: %q", all, got)
		}
	}
}
