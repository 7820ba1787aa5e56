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
	set   []*int64
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
		p.HandBack = v.owns || v.saved.done()
	}
	return p
}

// standing is how the references of a rule stand.
type standing struct {
	slots  []*slotRecord
	wanted []*int64
	// backends are those that the references belong to, clusters identify their clusters, "" for none, shares are which part of their
	// requests they get, in percent; drained marks those that get nothing.
	backends, clusters []string
	shares             []int
	drained            []bool
	// targets are what is behind them; missing are those for which nothing is, left those that an implementation may leave
	// out besides.
	targets       []Target
	missing, left []bool
	// doubts are those that implementations reject, or may reject.
	doubts []doubtful
	// lost is set when it is unknown what was wanted.
	lost bool
}

// doubtful is a reference that implementations reject, or may reject, and why.
type doubtful struct {
	at  int
	why string
}

// doubt returns why implementations reject a reference, or may reject it, "" for no reason that is known.
func (s *standing) doubt(i int) string {
	for _, doubtful := range s.doubts {
		if doubtful.at == i {
			return doubtful.why
		}
	}
	return ""
}

// stand finds out what is wanted of a rule, and what is drained.
func (v *View) stand(rule *rule, saved *ruleRecord, backends Backends, judged judgement) standing {
	n := len(rule.refs)
	s := standing{slots: saved.slots(rule), wanted: make([]*int64, n), backends: make([]string, n), clusters: make([]string, n), drained: make([]bool, n)}
	s.targets, s.missing, s.left, s.shares = make([]Target, n), make([]bool, n), make([]bool, n), make([]int, n)
	for i := range rule.refs {
		ref := &rule.refs[i]
		s.wanted[i] = ref.weight
		recorded := ""
		if slot := s.slots[i]; slot != nil {
			recorded = slot.Backend
			if equal(ref.weight, &slot.Set) {
				s.wanted[i] = slot.Saved
				s.lost = s.lost || slot.Lost
			}
		}
		s.backends[i] = backendOf(backends, ref, recorded)
		s.clusters[i] = clusterOf(backends, s.backends[i])
		s.targets[i] = v.targetOf(backends, ref)
		s.missing[i] = s.targets[i].Missing
		doubt := judged.doubt(v, ref, s.targets[i])
		if doubt == "" && v.kind.flavor.uncertain(s.targets[i]) {
			doubt = "it is of type ExternalName"
		}
		s.left[i] = s.missing[i] || doubt != ""
		if doubt != "" {
			s.doubts = append(s.doubts, doubtful{i, doubt})
		}
		s.lost = s.lost || v.damaged && s.backends[i] != "" && equal(ref.weight, new(int64(0)))
	}
	s.keepHelpers(rule, saved)
	if v.damaged && s.lost {
		clear(s.wanted) // the remaining weights are unknown: distribute evenly
	}
	s.share(v, backends)
	if v.saved == nil && s.lacksRecord(rule, backends) {
		s.lost = true
		clear(s.wanted)
		s.share(v, backends)
	}
	return s
}

// share finds out which part of their requests the backends of a rule get.
func (s *standing) share(v *View, backends Backends) {
	for i, backend := range s.backends {
		if s.shares[i] = whole; backend != "" {
			s.shares[i] = backends.Share(backend, v.namespace)
		}
		s.drained[i] = s.shares[i] == 0
	}
	serves := s.serves(v.kind.flavor.receives(s.wanted, s.left))
	s.keepSole(backends, serves, 0, 0)
	s.keepSole(backends, serves, 1, whole-1)
}

// lacksRecord reports whether a rule has a weight that maintenance set, although there is no record of it any more.
func (s *standing) lacksRecord(rule *rule, backends Backends) bool {
	recorder, ok := backends.(Recorder)
	if !ok {
		return false
	}
	for i := range rule.refs {
		if s.drained[i] && equal(rule.refs[i].weight, new(int64(0))) && recorder.HadRecord(s.backends[i]) {
			return true
		}
	}
	return false
}

// keepSole gives their whole share to the backends that keep it where no backend of another cluster serves: those with a share from
// low to high, when every such receiver that can respond has at most that.
func (s *standing) keepSole(backends Backends, serves []bool, low, high int) {
	kept := make([]bool, len(serves))
	for i, backend := range s.backends {
		kept[i] = s.shares[i] >= low && s.shares[i] <= high && backends.KeepsSole(backend)
		for j := range serves {
			kept[i] = kept[i] && (!serves[j] || s.shares[j] <= high || s.sameCluster(i, j))
		}
	}
	for i := range kept {
		if kept[i] {
			s.shares[i], s.drained[i] = whole, false
		}
	}
}

// serves returns the receivers that can respond to requests.
func (s *standing) serves(receives []bool) []bool {
	serves := make([]bool, len(receives))
	for i := range receives {
		serves[i] = receives[i] && !s.targets[i].Empty
	}
	return serves
}

// keepHelpers retains the weights that Groundskeeper set on receivers of an even distribution when a user has since set a weight
// in the rule where none was wanted: the user saw those weights beside it, and without them the receivers would no longer get
// requests. Weights of another sum than the wanted ones remain so, with their whole share, because the user set one beside them.
func (s *standing) keepHelpers(rule *rule, saved *ruleRecord) {
	isSet := func(i int) bool {
		weight, slot := rule.refs[i].weight, s.slots[i]
		if slot == nil {
			return positive(weight) && saved.lacks(rule, rule.refs[i].key)
		}
		// A manifest that is applied again sets what was wanted.
		return positive(weight) && !equal(weight, &slot.Set) && (slot.isScaled() && !equal(weight, slot.Saved) || !positive(slot.Saved))
	}
	for i, slot := range s.slots {
		if slot == nil || !slot.helps() && !slot.isScaled() || !equal(rule.refs[i].weight, &slot.Set) {
			continue
		}
		for j := range rule.refs {
			if isSet(j) {
				s.wanted[i] = slot.seen(rule.refs[i].weight)
			}
		}
	}
}

// planRule decides about one rule.
func (v *View) planRule(p *plan, rule *rule, saved *ruleRecord, backends Backends, judged judgement) (rulePlan, ruleRecord) {
	s := v.stand(rule, saved, backends, judged)
	if s.lost {
		p.Lost = append(p.Lost, rule.label())
	}
	set, wholes := s.weights(v)
	scaled := s.scales(wholes)
	result := rulePlan{set: set}
	record := ruleRecord{List: rule.list, Name: rule.name, Print: rule.print, Refs: rule.keys(), Index: rule.index, Frame: rule.frame}
	for i, ref := range rule.refs {
		set, wanted := result.set[i], s.wanted[i]
		changes := !equal(ref.weight, set)
		if changes {
			p.changed[rule.list] = true
		}
		if !s.differs(i, set) && !s.isLike(rule, i, result.set) && (!scaled || wholes[i] == nil) {
			continue
		}
		slot := slotRecord{Service: ref.key, Set: *set, Ordinal: ref.ordinal, Saved: wanted, Lost: s.lost && wanted == nil, At: i}
		if scaled && wholes[i] != nil {
			slot.Whole = *wholes[i]
		}
		if s.shares[i] < whole {
			slot.Backend = s.backends[i]
		}
		if recorder, ok := backends.(Recorder); ok && s.settled(i, set) && equal(wanted, set) {
			slot.Kept = recorder.Records(s.backends[i])
		}
		record.Slots = append(record.Slots, slot)
		if s.slots[i] != nil && changes && !equal(ref.weight, &s.slots[i].Set) {
			p.Forced++
		}
	}
	p.account(v, rule, &s, result.set)
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

// scales reports whether weights have another sum than the wanted ones.
func (s *standing) scales(wholes []*int64) bool {
	for i, weight := range wholes {
		if weight != nil && !equal(weight, s.wanted[i]) {
			return true
		}
	}
	return false
}

// settled reports whether a weight keeps requests away from a drained reference.
func (s *standing) settled(i int, set *int64) bool { return s.drained[i] && equal(set, new(int64(0))) }

// differs reports whether a weight is to be recorded: it is not the wanted one, or that of a drained reference, which is recorded even
// when nothing is wanted of it, so that it is not taken for another one.
func (s *standing) differs(i int, set *int64) bool {
	return s.settled(i, set) || !equal(s.wanted[i], set)
}

// isLike reports whether a reference with the wanted weight has the target of one whose weight is to be recorded. Without a record
// of both, one would be taken for the other when a user edits either.
func (s *standing) isLike(rule *rule, i int, set []*int64) bool {
	if !positive(set[i]) {
		return false
	}
	for j := range rule.refs {
		if j != i && rule.refs[j].key == rule.refs[i].key && s.differs(j, set[j]) {
			return true
		}
	}
	return false
}

// label names a rule to users.
func (r *rule) label() string {
	switch {
	case r.name != "":
		return r.name
	case r.list == listTCPProxy, r.list == fieldDefaultBackend:
		return "spec." + r.list
	}
	return fmt.Sprintf("spec.%s[%d]", r.list, r.index)
}
