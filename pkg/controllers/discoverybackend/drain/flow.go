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
		set, _ := s.weights(v)
		wanted, now := v.partsOf(rule, &s)
		next := v.parts(set, s.missing)
		receives, left := v.kind.flavor.receives(s.wanted, s.missing), v.kind.flavor.receives(s.wanted, s.left)
		flow := Flow{Rule: rule.label(), Lost: s.lost}
		for j, ref := range rule.refs {
			part := Part{Service: ref.service, Foreign: ref.foreign, Backend: s.backends[j], Target: s.targets[j], Now: now[j], Wanted: wanted[j], Next: next[j], Drained: s.drained[j], Doubt: s.doubt(j)}
			part.NoAlternative, part.Withheld = s.isSole(j, receives, left)
			flow.Parts = append(flow.Parts, part)
		}
		flows = append(flows, flow)
	}
	return flows
}

// partsOf returns the parts of the requests that references get by the weights that users want, and by those that they have.
func (v *View) partsOf(rule *rule, s *standing) (wanted, now []float64) {
	wanted = v.parts(s.wanted, s.missing)
	for i := range rule.refs {
		if !equal(rule.refs[i].weight, s.wanted[i]) {
			return wanted, v.parts(rule.weights(), s.missing)
		}
	}
	return wanted, wanted
}

// weights are those that the references of a rule have.
func (r *rule) weights() []*int64 {
	weights := make([]*int64, len(r.refs))
	for i := range r.refs {
		weights[i] = r.refs[i].weight
	}
	return weights
}

// parts returns the parts of the requests that references get by weights.
func (v *View) parts(weights []*int64, missing []bool) []float64 {
	if v.kind.flavor.fails() {
		missing = make([]bool, len(weights))
	}
	parts, sum := make([]float64, len(weights)), 0.0
	for i, receives := range v.kind.flavor.receives(weights, missing) {
		if !receives {
			continue
		}
		parts[i] = 1 // unset, or an even distribution
		if positive(weights[i]) {
			parts[i] = float64(*weights[i])
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
