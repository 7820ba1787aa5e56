// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import "slices"

// match finds the rules that a record is about. Since it was written, users may have edited, moved, added and removed
// rules. It tries what is most certain first, for all rules, then the next; rules that are alike stay in their order.
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
		func(r *ruleRecord, rule *rule) bool {
			return slices.Equal(r.Refs, rule.keys()) && r.Index == rule.index
		},
		func(r *ruleRecord, rule *rule) bool { return slices.Equal(r.Refs, rule.keys()) },
		func(r *ruleRecord, rule *rule) bool { return r.Index == rule.index && r.common(rule) },
		(*ruleRecord).common,
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

// common says whether a rule still has a reference that it had, be it with another port.
func (r *ruleRecord) common(rule *rule) bool {
	return slices.ContainsFunc(r.Refs, func(key string) bool {
		service, ok := recordedService(key)
		return slices.ContainsFunc(rule.refs, func(ref ref) bool { return ref.key == key || ok && !ref.foreign && ref.service == service })
	})
}

// slots finds what a record says of each reference of a rule: by what it refers to, and rather where the weight is still
// the one that was set; or, when a port was edited and the weight was not, by the Service.
func (r *ruleRecord) slots(rule *rule) []*slotRecord {
	found := make([]*slotRecord, len(rule.refs))
	if r == nil {
		return found
	}
	taken := make([]bool, len(r.Slots))
	same := func(slot *slotRecord, ref *ref) bool { return slot.Service == ref.key }
	nth := func(slot *slotRecord, ref *ref) bool { return slot.Service == ref.key && slot.Ordinal == ref.ordinal }
	for _, test := range []struct {
		same  func(*slotRecord, *ref) bool
		still bool
	}{{nth, true}, {same, true}, {nth, false}, {otherPort, true}} {
		for i := range rule.refs {
			for j := range r.Slots {
				slot, ref := &r.Slots[j], &rule.refs[i]
				if found[i] == nil && !taken[j] && test.same(slot, ref) && (!test.still || equal(ref.weight, &slot.Set)) {
					found[i], taken[j] = slot, true
				}
			}
		}
	}
	return found
}

func otherPort(slot *slotRecord, ref *ref) bool {
	service, ok := recordedService(slot.Service)
	return ok && !ref.foreign && service == ref.service
}
