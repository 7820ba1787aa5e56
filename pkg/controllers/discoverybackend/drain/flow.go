// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "k8s.io/apimachinery/pkg/types"

// Flow is where a rule of a route sends its requests.
type Flow struct {
	// Rule is the rule as messages name it.
	Rule  string
	Parts []Part
	// Lost is set when it is unknown which weights users want.
	Lost bool
}

// Part is a reference of a rule, with the part of the requests of the rule that it gets, from 0 to 1.
type Part struct {
	// Service is what the reference names. Foreign is set when that is no Service.
	Service types.NamespacedName
	Foreign bool
	// Backend is the backend of the Service, "" for none, and Target what is behind it.
	Backend string
	Target  Target
	// Now is the part by the weights of the route, Wanted by those that users want, Next by those that are to be written.
	Now, Wanted, Next float64
	// Drained is set when the backend is drained and the rule does not keep it.
	Drained bool
	// NoAlternative is set when no other target can respond if the backend is drained, Withheld when weights would not keep requests
	// away from it: only endpoints that are not ready do.
	NoAlternative, Withheld bool
	// Doubt is why implementations reject the reference, or may reject it, "" for no reason that is known.
	Doubt string
}

// Flows reports where each rule of the route sends requests. It decides as Decide does.
func (v *View) Flows(backends Backends) []Flow {
	saved, judged := v.match(), v.judge(backends)
	flows := make([]Flow, 0, len(v.rules))
	for i := range v.rules {
		rule := &v.rules[i]
		s := v.stand(rule, saved[i], backends, judged)
		s.weigh(v)
		before, now := v.partsOf(s)
		next := v.parts(s.slots, set)
		due, dueLeft := v.kind.flavor.receives(s.slots, wanted, (*slot).isMissing), v.kind.flavor.receives(s.slots, wanted, (*slot).isLeft)
		flow := Flow{Rule: rule.label(), Lost: s.lost}
		for j := range s.slots {
			x := &s.slots[j]
			part := Part{
				Service: x.service, Foreign: x.foreign, Backend: x.backend, Target: x.target, Now: now[j], Wanted: before[j], Next: next[j],
				Drained: x.isDrained(), Doubt: x.doubt,
			}
			part.NoAlternative, part.Withheld = s.isSole(x, due[j] || dueLeft[j], dueLeft)
			flow.Parts = append(flow.Parts, part)
		}
		flows = append(flows, flow)
	}
	return flows
}

// partsOf returns the parts of the requests that references get by the weights that users want, and by those that they have.
func (v *View) partsOf(s *standing) (before, now []float64) {
	before = v.parts(s.slots, wanted)
	if !some(s.slots, func(x *slot) bool { return !equal(x.weight, x.wanted) }) {
		return before, before
	}
	return before, v.parts(s.slots, current)
}

// parts returns the parts of the requests that references get by weights.
func (v *View) parts(slots []slot, weight func(*slot) *int64) []float64 {
	gone := (*slot).isMissing
	if v.kind.flavor.fails() {
		gone = func(*slot) bool { return false }
	}
	parts, sum := make([]float64, len(slots)), 0.0
	for i, receives := range v.kind.flavor.receives(slots, weight, gone) {
		if !receives {
			continue
		}
		parts[i] = 1 // unset, or an even distribution
		if weight := weight(&slots[i]); positive(weight) {
			parts[i] = float64(*weight)
		}
		sum += parts[i]
	}
	for i := range parts {
		if sum > 0 {
			parts[i] /= sum
		}
	}
	return parts
}
