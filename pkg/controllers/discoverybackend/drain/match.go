// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "slices"

// match finds the rules that a record is about. Since it was written, users may have edited, moved, added and removed rules. It
// tries what is most certain first, for all rules, then the next; equal rules stay in their order.
func (v *View) match() []*ruleRecord {
	found := make([]*ruleRecord, len(v.rules))
	if v.saved == nil {
		return found
	}
	left := make([]*ruleRecord, 0, len(v.saved.Rules))
	for i := range v.saved.Rules {
		left = append(left, &v.saved.Rules[i])
	}
	for _, same := range []func(*ruleRecord, *rule) bool{
		func(r *ruleRecord, rule *rule) bool { return r.Name != "" && r.Name == rule.name },
		func(r *ruleRecord, rule *rule) bool { return r.Print == rule.print },
		func(r *ruleRecord, rule *rule) bool { return r.framed(rule) && v.unique(rule) && r.common(rule) },
		func(r *ruleRecord, rule *rule) bool {
			return slices.Equal(r.Refs, rule.keys()) && r.Index == rule.index
		},
		func(r *ruleRecord, rule *rule) bool { return slices.Equal(r.Refs, rule.keys()) },
		func(r *ruleRecord, rule *rule) bool { return r.Index == rule.index && r.common(rule) },
		(*ruleRecord).common,
		// All its Services were replaced.
		func(r *ruleRecord, rule *rule) bool { return r.framed(rule) && r.Index == rule.index },
		(*ruleRecord).framed,
	} {
		left = slices.DeleteFunc(left, func(r *ruleRecord) bool {
			for i := range v.rules {
				if found[i] == nil && r.List == v.rules[i].list && same(r, &v.rules[i]) {
					found[i] = r
					return true
				}
			}
			return false
		})
	}
	return found
}

// common reports whether a rule still has a reference that it had, be it with another port.
func (r *ruleRecord) common(rule *rule) bool {
	return slices.ContainsFunc(r.Refs, func(key string) bool {
		recorded := recordedRef(key)
		return slices.ContainsFunc(rule.refs, func(ref ref) bool { return ref.key == key || ref.isPortOf(recorded) })
	})
}

// isPortOf reports whether two references are of one Service or ServiceImport, be it with other ports.
func (r ref) isPortOf(other ref) bool {
	return r.service == other.service && r.imported == other.imported && (r.imported || !r.foreign && !other.foreign)
}

// framed reports whether the rest of a rule is what it was, whatever became of its references. There is one tcpproxy.
func (r *ruleRecord) framed(rule *rule) bool {
	return r.Frame != "" && r.Frame == rule.frame || r.List == listTCPProxy
}

// unique reports whether no other rule has the frame of a rule, neither now nor in the record.
func (v *View) unique(rule *rule) bool {
	now, then := 0, 0
	for i := range v.rules {
		if v.rules[i].frame == rule.frame {
			now++
		}
	}
	for i := range v.saved.Rules {
		if v.saved.Rules[i].framed(rule) {
			then++
		}
	}
	return now == 1 && then == 1
}

// slots finds what a record reports about each reference of a rule: by what it refers to, and rather where the weight is still the
// one that was set; or, when a port was edited and the weight was not, by the Service; or, when a reference was renamed and its
// weight was not edited, by its position: the weight that Groundskeeper set must not pass to another Service.
func (r *ruleRecord) slots(rule *rule) []*slotRecord {
	found := make([]*slotRecord, len(rule.refs))
	if r == nil {
		return found
	}
	taken := make([]bool, len(r.Slots))
	same := func(slot *slotRecord, i int) bool { return slot.Service == rule.refs[i].key }
	there := func(slot *slotRecord, i int) bool {
		return same(slot, i) && slot.At == i && len(rule.refs) == len(r.Refs)
	}
	nth := func(slot *slotRecord, i int) bool { return same(slot, i) && slot.Ordinal == rule.refs[i].ordinal }
	otherPort := func(slot *slotRecord, i int) bool {
		return rule.refs[i].isPortOf(recordedRef(slot.Service))
	}
	renamed := func(slot *slotRecord, i int) bool { return slot.At == i && r.lacks(rule, rule.refs[i].key) }
	for _, test := range []struct {
		same  func(slot *slotRecord, i int) bool
		still bool
	}{{there, true}, {nth, true}, {same, true}, {nth, false}, {otherPort, true}, {renamed, true}} {
		for i := range rule.refs {
			for j := range r.Slots {
				slot := &r.Slots[j]
				if found[i] == nil && !taken[j] && test.same(slot, i) && (!test.still || equal(rule.refs[i].weight, &slot.Set)) {
					found[i], taken[j] = slot, true
				}
			}
		}
	}
	return found
}

// lacks reports whether a rule has more references with a key than it had.
func (r *ruleRecord) lacks(rule *rule, key string) bool {
	more := 0
	for _, ref := range rule.refs {
		if ref.key == key {
			more++
		}
	}
	for _, had := range r.Refs {
		if had == key {
			more--
		}
	}
	return more > 0
}
