// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// facts are what the routes of a backend are like.
type facts struct {
	// matching is how many there are.
	matching int
	// drained is how many of them send the backend nothing, by their weights.
	drained int
	// recorded is how many of them have a record of its weights.
	recorded int
	// left is how many are still to be written; those that the API server rejects are not among them.
	left int
	// wanted and now are how many of their requests they send to the backend by the weights that users want, and by those that they
	// have: the sum of its parts of all rules. Endpoints that are withheld get none.
	wanted, now float64
	// sole are those in which no other target can respond.
	sole []string
	// invalid describes references in them that are no alternative because implementations reject them, or may reject them.
	invalid map[string][]string
	// failing are those that send requests to a Service of the backend without a ready endpoint, unless maintenance withholds them.
	failing []problem
	// over are those whose requests for a Service of the backend go to other receivers, because it has no ready endpoint.
	over []problem
	// withhold are the Services of which weights may not keep the requests of some routes away, serving is how many routes
	// send to the backend by their weights.
	withhold sets.Set[types.NamespacedName]
	serving  int
	// unwritten are the Services in routes whose weights are still to be written.
	unwritten sets.Set[types.NamespacedName]
	// sending are those that send to it even when the copied endpoints are withheld, and are not written as users want them;
	// unsettled is how many do so because a copy is still ready.
	sending   []problem
	unsettled int
	// others are objects of other kinds that refer to Services of the backend.
	others []problem
	// alone is set when no other cluster is known to serve, if that matters.
	alone bool
	// twins are the backends that lead, or may lead, to the same cluster.
	twins twins
	// Problems of routes: those that cannot be written, and those whose saved weights were lost.
	rejected, lost []problem
}

// problem is what is wrong with a route.
type problem struct{ route, message string }

func newFacts() facts {
	return facts{invalid: map[string][]string{}, withhold: sets.Set[types.NamespacedName]{}, unwritten: sets.Set[types.NamespacedName]{}}
}

// count adds a route to the facts about a backend. rejected is why it cannot be written, lost names the rules whose weights were lost.
func (f *facts) count(backend *gimbalv1.DiscoveryBackend, m *membership, decision drain.Decision, name, rejected, lost string) {
	outcome, refers := decision.Backends[backend.Name]
	if !refers {
		return
	}
	f.matching++
	recorded := slices.Contains(m.recorded, backend.Name)
	if recorded {
		f.recorded++
	}
	f.wanted += outcome.Wanted
	if !f.countWithheld(m, outcome, name) {
		f.now += outcome.Now
	}
	if len(outcome.WithoutEndpoints) > 0 && !backend.Status.EndpointsDrained && m.memory.phaseOf(backend) != phaseHeld {
		f.failing = append(f.failing, problem{name, strings.Join(outcome.WithoutEndpoints, ", ")})
	}
	if len(outcome.FailedOver) > 0 {
		f.over = append(f.over, problem{name, strings.Join(outcome.FailedOver, ", ")})
	}
	if outcome.NoAlternative {
		f.sole = append(f.sole, name)
		if len(outcome.Invalid) > 0 {
			f.invalid[name] = outcome.Invalid
		}
	}
	if lost != "" {
		f.lost = append(f.lost, problem{name, lost})
	}
	due := decision.Write || decision.HandBack
	if m.memory.phaseOf(backend) == phaseDraining {
		if outcome.Drained && !decision.Write {
			f.drained++
		}
		if decision.Write {
			f.unwritten.Insert(m.servicesOf(backend.Name)...)
		}
	} else {
		// Pending writes for another backend that is being drained do not affect this one.
		due = recorded || decision.HandBack && !isEnabled(backend) && !m.draining(decision)
	}
	switch {
	case due && rejected != "":
		f.rejected = append(f.rejected, problem{name, rejected})
	case due:
		f.left++
	}
}

// isEnabled reports whether nothing is left to restore according to the status of a backend.
func isEnabled(backend *gimbalv1.DiscoveryBackend) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return c != nil && c.Reason == reasonEnabled
}

// countWithheld adds what of a route weights may not keep away, only endpoints that are not ready do. It reports whether they do: whether
// none is ready.
func (f *facts) countWithheld(m *membership, outcome drain.Outcome, name string) bool {
	if len(outcome.Withhold) == 0 {
		return false
	}
	why, settled := "", true
	for _, object := range outcome.Withhold {
		found := m.targets[object]
		f.withhold.Insert(found.services(object)...)
		settled = settled && !found.ready(true)
		if found.ready(false) {
			why = "endpoints of " + object.String() + " are not copies of a discoverer, so they stay ready"
		}
	}
	if outcome.ExternalName {
		why = "a Service of type ExternalName has no endpoints that could be withheld"
	}
	switch {
	case outcome.Drained: // regardless of the endpoints
	case why != "":
		f.sending = append(f.sending, problem{name, why})
	default:
		f.serving++
		if !settled {
			f.unsettled++
		}
	}
	return settled && why == ""
}

// countOther adds an object that refers to a Service. Only the endpoints of the Service keep requests away.
func (f *facts) countOther(name string, service drain.Object, found *target) {
	f.others = append(f.others, problem{name, service.String()})
	f.withhold.Insert(service.NamespacedName)
	switch {
	case found == nil:
	case found.service.externalName:
		f.sending = append(f.sending, problem{name, "a Service of type ExternalName has no endpoints that could be withheld"})
	case found.ready(false):
		f.sending = append(f.sending,
			problem{name, "endpoints of " + service.String() + " are not copies of a discoverer, so they stay ready"})
	case found.ready(true):
		f.unsettled++
	}
}

// share is which part of the requests that users want the backend to get it gets, in percent; otherwise where they want none.
func (f *facts) share(otherwise int32) int32 {
	if f.wanted == 0 {
		return otherwise
	}
	return int32(math.Round(whole * f.now / f.wanted))
}

// sort makes reports of successive checks comparable.
func (f *facts) sort() {
	slices.Sort(f.sole)
	for _, problems := range [][]problem{f.failing, f.over, f.sending, f.rejected, f.lost, f.others} {
		slices.SortFunc(problems, func(a, b problem) int { return cmp.Compare(a.route, b.route) })
	}
}
