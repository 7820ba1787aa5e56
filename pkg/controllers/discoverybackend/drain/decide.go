// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "slices"

// maxInvalid is how many invalid references of a route are described.
const maxInvalid = 3

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
	// Withhold is what of the backend is in rules without another target: weights may not keep requests away from it, only endpoints that
	// are not ready do.
	Withhold []Object
	// Invalid describes references that are no alternative because implementations reject them, or may reject them.
	Invalid []string
	// WithoutEndpoints describes references of the backend that get requests, and behind which no endpoint is ready.
	WithoutEndpoints []string
	// FailedOver describes references of the backend whose requests go to other backends, because no endpoint is ready.
	FailedOver []string
	// Wanted and Now are how many of the requests the backend gets by the weights that users want, and by those that the route has: the sum
	// of its parts of all rules, each from 0 to 1.
	Wanted, Now float64
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
	for ref := range v.refs() {
		if backendOf(backends, ref, "") != "" {
			return true
		}
	}
	return false
}

// backendOf returns the backend of a reference. That of what does not exist is the one recorded.
func backendOf(backends Backends, ref *ref, recorded string) string {
	if ref.foreign && !ref.imported {
		return ""
	}
	backend, known := backends.Of(ref.object())
	if !known {
		return recorded
	}
	return backend
}

// targetOf returns what is behind a reference of the route. A port of another protocol is none. Of what is neither a Service nor a
// ServiceImport nothing is known.
func (v *View) targetOf(backends Backends, ref *ref) (target Target) {
	if ref.imported || !ref.foreign {
		target = backends.Target(ref.object(), ref.port)
	}
	needed := v.kind.protocol()
	target.Missing = target.Missing || target.Protocol != "" && target.Protocol != needed && target.OtherProtocol != needed
	return target
}

// account notes what the backends of a rule get by the weights that are set. What an implementation may leave out is no
// receiver when it is a question of who else receives, and one when it is a question of who still does.
func (d *Decision) account(v *View, s *standing) {
	partsWanted, partsNow := v.partsOf(s)
	receives, missing, left := v.kind.flavor.receives, (*slot).isMissing, (*slot).isLeft
	due, dueLeft := receives(s.slots, wanted, missing), receives(s.slots, wanted, left)
	got, gotLeft := receives(s.slots, set, missing), receives(s.slots, set, left)
	for i := range s.slots {
		x := &s.slots[i]
		if x.backend == "" {
			continue
		}
		outcome := d.outcome(x.backend)
		outcome.Wanted, outcome.Now = outcome.Wanted+partsWanted[i], outcome.Now+partsNow[i]
		if x.target.Empty && partsNow[i] > 0 && !slices.Contains(outcome.WithoutEndpoints, x.label()) {
			outcome.WithoutEndpoints = append(outcome.WithoutEndpoints, x.label())
		}
		if x.failed && !slices.Contains(outcome.FailedOver, x.label()) {
			outcome.FailedOver = append(outcome.FailedOver, x.label())
		}
		outcome.Drained = outcome.Drained && !got[i] && !gotLeft[i]
		noAlternative, withhold := s.isSole(x, due[i] || dueLeft[i], dueLeft)
		if noAlternative {
			outcome.NoAlternative = true
			outcome.Invalid = s.describeInvalid(outcome.Invalid, x)
		}
		if withhold {
			if !slices.Contains(outcome.Withhold, x.object()) {
				outcome.Withhold = append(outcome.Withhold, x.object())
			}
			outcome.ExternalName = outcome.ExternalName || (got[i] || gotLeft[i]) && x.target.ExternalName
		}
		d.Backends[x.backend] = outcome
	}
}

// describeInvalid adds the references of a rule that are no alternative to one of them because they are, or may be, invalid.
func (s *standing) describeInvalid(all []string, x *slot) []string {
	for j := range s.slots {
		y := &s.slots[j]
		if y.doubt == "" || y.backend != "" && x.sameCluster(y) {
			continue
		}
		if text := y.label() + ": " + y.doubt; len(all) < maxInvalid && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// isSole reports whether no target of another cluster can respond when the backend of a reference that is wanted to receive is drained,
// and whether no other one gets requests, so that only endpoints that are not ready keep them away.
func (s *standing) isSole(x *slot, wanted bool, wantedLeft []bool) (noAlternative, withhold bool) {
	if x.backend == "" || !wanted {
		return false, false
	}
	return !s.alternative(x, s.serves(wantedLeft)), !s.alternative(x, wantedLeft)
}

// alternative reports whether one of the receivers is neither drained nor of the cluster of a reference.
func (s *standing) alternative(x *slot, receives []bool) bool {
	for j := range receives {
		if y := &s.slots[j]; receives[j] && !y.isDrained() && !x.sameCluster(y) {
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
