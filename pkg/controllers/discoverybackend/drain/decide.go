// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Decision is what is to be done about a route, and what backends get from it.
type Decision struct {
	// Write is set when the route or its record are not what they should be.
	Write bool
	// HandBack is set when fields are to be handed back to their owners, or an empty record is to be dropped. Of a route that is to
	// be written, check it again after the write.
	HandBack bool
	// Forced counts what was at the value that Groundskeeper had set, was set otherwise since, and is drained again by this.
	Forced int
	// Lost names the rules whose record could not be read: there it is unknown what was wanted.
	Lost []string
	// Backends are all that the route refers to, drained or not, by name.
	Backends map[string]Outcome
}

// Outcome is what a backend gets from a route once it is written.
type Outcome struct {
	// Drained is set when weights give the backend nothing, be it that it is drained or that users want it so.
	Drained bool
	// NoAlternative is set when a rule has no other target that can respond, or would have none if the backend were drained.
	NoAlternative bool
	// Withhold are Services of the backend in rules without another target: weights may not keep requests away from them,
	// only endpoints that are not ready do.
	Withhold []types.NamespacedName
	// ExternalName is set when one of them has that type and gets requests by the weights: nothing keeps them away.
	ExternalName bool
}

// Decide reports what is to be done about a route.
func (v *View) Decide(backends Backends) Decision {
	if v.saved == nil && !v.damaged && !v.refersToBackends(backends) {
		return Decision{HandBack: v.owns}
	}
	return v.plan(backends).Decision
}

func (v *View) refersToBackends(backends Backends) bool {
	for i := range v.rules {
		for _, ref := range v.rules[i].refs {
			if backendOf(backends, &ref, "") != "" {
				return true
			}
		}
		for _, list := range v.rules[i].lists {
			for _, mirror := range list.found {
				if backendOf(backends, &mirror.ref, "") != "" {
					return true
				}
			}
		}
	}
	return false
}

// backendOf is the backend of a reference. That of a Service that does not exist is the one recorded.
func backendOf(backends Backends, ref *ref, recorded string) string {
	if ref.foreign {
		return ""
	}
	backend, known := backends.Of(ref.service)
	if !known {
		return recorded
	}
	return backend
}

// account records which backends of a rule receive traffic with the given weights. A reference that implementations may ignore does not
// count as an alternative for others, but does count as still receiving traffic.
func (d *Decision) account(flavor flavor, rule *rule, s *standing, set []*int64) {
	wanted, wantedLeft := flavor.receives(s.wanted, s.missing), flavor.receives(s.wanted, s.left)
	got, gotLeft := flavor.receives(set, s.missing), flavor.receives(set, s.left)
	for i, backend := range s.backends {
		if backend == "" {
			continue
		}
		outcome := d.outcome(backend)
		receives := got[i] || gotLeft[i]
		if receives {
			outcome.Drained = false
		}
		noAlternative, withhold := s.isSole(i, wanted, wantedLeft)
		outcome.NoAlternative = outcome.NoAlternative || noAlternative
		if withhold {
			if service := rule.refs[i].service; !slices.Contains(outcome.Withhold, service) {
				outcome.Withhold = append(outcome.Withhold, service)
			}
			outcome.ExternalName = outcome.ExternalName || receives && s.targets[i].ExternalName
		}
		d.Backends[backend] = outcome
	}
}

// isSole reports whether no other target can respond when the backend of a reference is drained, and whether no other one gets requests,
// so that only endpoints that are not ready keep them away.
func (s *standing) isSole(i int, wanted, wantedLeft []bool) (noAlternative, withhold bool) {
	if s.backends[i] == "" || !wanted[i] && !wantedLeft[i] {
		return false, false
	}
	return !alternative(s.backends[i], s, s.serves(wantedLeft)), !alternative(s.backends[i], s, wantedLeft)
}

// alternative reports whether one of the receivers is neither drained nor of a backend.
func alternative(backend string, s *standing, receives []bool) bool {
	for i := range receives {
		if receives[i] && !s.drained[i] && s.backends[i] != backend {
			return true
		}
	}
	return false
}

// outcome is that of a backend so far: nothing, until a rule gives it something.
func (d *Decision) outcome(backend string) Outcome {
	if d.Backends == nil {
		d.Backends = map[string]Outcome{}
	}
	outcome, ok := d.Backends[backend]
	if !ok {
		outcome.Drained = true
		d.Backends[backend] = outcome
	}
	return outcome
}

// receivesCopies notes that mirrors send to a backend.
func (d *Decision) receivesCopies(backend string) {
	outcome := d.outcome(backend)
	outcome.Drained = false
	d.Backends[backend] = outcome
}
