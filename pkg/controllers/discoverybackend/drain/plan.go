// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "fmt"

// plan is what a route should be.
type plan struct {
	Decision
	// rules are in the order of the route's.
	rules []rulePlan
	// record is what the record should report about the rules, never nil.
	record []ruleRecord
	// changed are the fields of the spec that change.
	changed map[string]bool
}

// rulePlan is what a rule should be.
type rulePlan struct {
	slots []slot
	lists []listPlan
}

// plan is f(wanted, drained backends).
func (v *View) plan(backends Backends) *plan {
	p := &plan{record: []ruleRecord{}, changed: map[string]bool{}}
	saved, judged := v.match(), v.judge(backends)
	for i := range v.rules {
		rule, record := v.planRule(p, &v.rules[i], saved[i], backends, judged)
		p.rules = append(p.rules, rule)
		p.record = append(p.record, record)
	}
	// As long as one rule is not as wanted, all are recorded: what is known of the others is no other's.
	if silent(p.record) {
		p.record = []ruleRecord{}
	}
	switch {
	case v.damaged:
		p.Write = true
	case v.saved == nil:
		p.Write = len(p.changed) > 0 || len(p.record) > 0
		p.HandBack = v.owns
	default:
		p.Write = len(p.changed) > 0 || !equalRules(p.record, v.saved.Rules) || v.saved.UID != v.uid && len(p.record) > 0
		p.HandBack = v.owns || silent(v.saved.Rules)
	}
	return p
}

// standing is how the references of a rule stand.
type standing struct {
	slots []slot
	// lost is set when it is unknown what was wanted.
	lost bool
}

// slot is how a reference of a rule stands.
type slot struct {
	*ref
	// saved is what the record reports about it, nil for nothing.
	saved *slotRecord
	// wanted is the weight that users want, set the one that it should have. wholes are what the wanted ones of a rule are where those
	// that are set have another sum; else nil.
	wanted, set, whole *int64
	// backend is the one that it belongs to, cluster identifies the cluster of that, "" for none.
	backend, cluster string
	// share is which part of its requests it gets, in percent; failed is set when that is 0 only because it has no ready endpoint.
	share  int
	failed bool
	target Target
	// doubt is why implementations reject it, or may reject it, "" for no reason that is known.
	doubt string
}

func (x *slot) isDrained() bool { return x.share == 0 }

func (x *slot) isMissing() bool { return x.target.Missing }

// isLeft reports whether nothing is behind a reference, or an implementation may leave it out.
func (x *slot) isLeft() bool { return x.target.Missing || x.doubt != "" }

// isAsSet reports whether a reference has the weight that the record says Groundskeeper set.
func (x *slot) isAsSet() bool { return x.saved != nil && equal(x.weight, &x.saved.Set) }

// sameCluster reports whether two references lead to one cluster.
func (x *slot) sameCluster(other *slot) bool { return x.cluster != "" && x.cluster == other.cluster }

// Weights of a reference: the one that it has, the one that users want, and the one that it should have.
func current(x *slot) *int64 { return x.weight }
func wanted(x *slot) *int64  { return x.wanted }
func set(x *slot) *int64     { return x.set }

// some reports whether something is true of a reference.
func some(slots []slot, is func(*slot) bool) bool {
	for i := range slots {
		if is(&slots[i]) {
			return true
		}
	}
	return false
}

// stand finds out what is wanted of a rule, and what is drained.
func (v *View) stand(rule *rule, saved *ruleRecord, backends Backends, judged judgement) *standing {
	s := &standing{slots: make([]slot, len(rule.refs))}
	for i, record := range saved.slots(rule) {
		ref := &rule.refs[i]
		x := slot{ref: ref, saved: record, wanted: ref.weight, target: v.targetOf(backends, ref)}
		recorded := ""
		if record != nil {
			recorded = record.Backend
		}
		if x.isAsSet() {
			x.wanted = record.Saved
			s.lost = s.lost || record.Lost
		}
		if x.backend = backendOf(backends, ref, recorded); x.backend != "" {
			x.cluster = backends.ClusterOf(x.backend)
		}
		x.doubt = judged.doubt(v, ref, x.target)
		if x.doubt == "" && v.kind.flavor.uncertain(x.target) {
			x.doubt = "it is of type ExternalName"
		}
		s.lost = s.lost || v.damaged && x.backend != "" && isZero(ref.weight)
		s.slots[i] = x
	}
	s.keepHelpers(rule, saved)
	if v.damaged && s.lost {
		s.forget()
	}
	s.share(v, backends)
	if v.saved == nil && s.lacksRecord(backends) {
		s.forget()
		s.share(v, backends)
	}
	return s
}

// forget notes that the wanted weights are unknown: distribute evenly.
func (s *standing) forget() {
	s.lost = true
	for i := range s.slots {
		s.slots[i].wanted = nil
	}
}

// share finds out which part of their requests the backends of a rule get.
func (s *standing) share(v *View, backends Backends) {
	for i := range s.slots {
		x := &s.slots[i]
		if x.share, x.failed = whole, false; x.backend != "" {
			x.share = backends.Share(x.backend, v.namespace)
		}
	}
	serves := s.serves(v.kind.flavor.receives(s.slots, wanted, (*slot).isLeft))
	s.keepSole(backends, serves, 0, 0)
	s.keepSole(backends, serves, 1, whole-1)
	s.failOver(v, backends, serves)
}

// lacksRecord reports whether a rule has a weight that maintenance set, although there is no record of it any more.
func (s *standing) lacksRecord(backends Backends) bool {
	recorder, ok := backends.(Recorder)
	return ok && some(s.slots, func(x *slot) bool { return x.isDrained() && isZero(x.weight) && recorder.HadRecord(x.backend) })
}

// keepSole gives their whole share to the backends that keep it where no backend of another cluster serves: those with a share from
// low to high, when every such receiver that can respond has at most that.
func (s *standing) keepSole(backends Backends, serves []bool, low, high int) {
	kept := make([]bool, len(serves))
	for i := range s.slots {
		x := &s.slots[i]
		kept[i] = x.share >= low && x.share <= high && backends.KeepsSole(x.backend)
		for j := range serves {
			kept[i] = kept[i] && (!serves[j] || s.slots[j].share <= high || x.sameCluster(&s.slots[j]))
		}
	}
	for i := range kept {
		if kept[i] {
			s.slots[i].share = whole
		}
	}
}

// failOver takes their share from Services without a ready endpoint that get requests, where another receiver serves. It may be of the same
// cluster, because that is not drained.
func (s *standing) failOver(v *View, backends Backends, serves []bool) {
	mayFail := func(x *slot) bool {
		return x.backend != "" && !x.foreign && !x.isDrained() && backends.FailsOver(x.service)
	}
	if !some(s.slots, mayFail) {
		return
	}
	fails, taken := make([]bool, len(serves)), false
	for i, receives := range v.kind.flavor.receives(s.slots, wanted, (*slot).isMissing) {
		x := &s.slots[i]
		fails[i] = receives && mayFail(x)
		taken = taken || serves[i] && !fails[i] && !x.isDrained()
	}
	for i := range fails {
		if x := &s.slots[i]; fails[i] && taken {
			x.share, x.failed, x.cluster = 0, true, ""
		}
	}
}

// serves returns the receivers that can respond to requests.
func (s *standing) serves(receives []bool) []bool {
	serves := make([]bool, len(receives))
	for i := range receives {
		serves[i] = receives[i] && !s.slots[i].target.Empty
	}
	return serves
}

// keepHelpers retains the weights that Groundskeeper set on receivers of an even distribution when a user has since set a weight
// in the rule where none was wanted: the user saw those weights beside it, and without them the receivers would no longer get
// requests. Weights of another sum than the wanted ones remain so, with their whole share, because the user set one beside them.
func (s *standing) keepHelpers(rule *rule, saved *ruleRecord) {
	helps := func(x *slot) bool { return x.isAsSet() && (x.saved.helps() || x.saved.isScaled()) }
	isSet := func(x *slot) bool {
		if x.saved == nil {
			return positive(x.weight) && saved.lacks(rule, x.key)
		}
		// A manifest that is applied again sets what was wanted.
		return positive(x.weight) && !x.isAsSet() && (x.saved.isScaled() && !equal(x.weight, x.saved.Saved) || !positive(x.saved.Saved))
	}
	if saved == nil || !some(s.slots, helps) || !some(s.slots, isSet) {
		return
	}
	for i := range s.slots {
		if x := &s.slots[i]; helps(x) {
			x.wanted = x.saved.seen(x.weight)
		}
	}
}

// planRule decides about one rule.
func (v *View) planRule(p *plan, rule *rule, saved *ruleRecord, backends Backends, judged judgement) (rulePlan, ruleRecord) {
	s := v.stand(rule, saved, backends, judged)
	if s.lost {
		p.Lost = append(p.Lost, rule.label())
	}
	s.weigh(v)
	scaled := some(s.slots, func(x *slot) bool { return x.whole != nil && !equal(x.whole, x.wanted) })
	result := rulePlan{slots: s.slots}
	record := ruleRecord{List: rule.list, Name: rule.name, Print: rule.print, Refs: rule.keys(), Index: rule.index, Frame: rule.frame}
	recorder, _ := backends.(Recorder)
	for i := range s.slots {
		x := &s.slots[i]
		changes := !equal(x.weight, x.set)
		if changes {
			p.changed[rule.list] = true
		}
		if !x.differs() && !s.isLike(i) && (!scaled || x.whole == nil) {
			continue
		}
		slot := slotRecord{Service: x.key, Set: *x.set, Ordinal: x.ordinal, Saved: x.wanted, Lost: s.lost && x.wanted == nil, At: i}
		if scaled && x.whole != nil {
			slot.Whole = *x.whole
		}
		if x.share < whole {
			slot.Backend = x.backend
		}
		slot.Failover = x.failed
		slot.Kept = recorder != nil && x.isSettled() && equal(x.wanted, x.set) && recorder.Records(x.backend)
		record.Slots = append(record.Slots, slot)
		if x.saved != nil && changes && !x.isAsSet() {
			p.Forced++
		}
	}
	p.account(v, s)
	for i := range rule.lists {
		list := v.planList(p, &rule.lists[i], saved, backends)
		if list.changed {
			p.changed[rule.list] = true
		}
		record.Mirrors = append(record.Mirrors, list.taken...)
		result.lists = append(result.lists, list)
	}
	return result, record
}

// isSettled reports whether the weight keeps requests away from a drained reference.
func (x *slot) isSettled() bool { return x.isDrained() && isZero(x.set) }

// differs reports whether a weight is to be recorded: it is not the wanted one, or that of a drained reference, which is recorded even
// when nothing is wanted of it, so that it is not taken for another one.
func (x *slot) differs() bool { return x.isSettled() || !equal(x.wanted, x.set) }

// isLike reports whether a reference with the wanted weight has the target of one whose weight is to be recorded. Without a record
// of both, one would be taken for the other when a user edits either.
func (s *standing) isLike(i int) bool {
	for j := range s.slots {
		if positive(s.slots[i].set) && j != i && s.slots[j].key == s.slots[i].key && s.slots[j].differs() {
			return true
		}
	}
	return false
}

func (r *rule) label() string {
	switch {
	case r.name != "":
		return r.name
	case r.list == listTCPProxy, r.list == fieldDefaultBackend:
		return "spec." + r.list
	}
	return fmt.Sprintf("spec.%s[%d]", r.list, r.index)
}
