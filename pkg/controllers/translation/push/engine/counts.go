// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

// tally is how many resources are in each state, in the order of stateNumber.
type tally [6]int32

// byState is the tally with the states' names. Each state is in it.
func (t tally) byState() map[State]int {
	counts := make(map[State]int, len(t))
	for _, s := range []State{Pending, Synced, Drifted, Failed, Deleting, NotApplicable} {
		counts[s] = int(t[stateNumber(s)])
	}
	return counts
}

// stateNumber is the place of a state in a tally. A word that is no state is taken for Pending.
func stateNumber(s State) int {
	switch s {
	case Synced:
		return 1
	case Drifted:
		return 2
	case Failed:
		return 3
	case Deleting:
		return 4
	case NotApplicable:
		return 5
	default:
		return 0
	}
}

// tallyOf counts what is reported of a Claim.
func tallyOf(pushed []Pushed) tally {
	var t tally
	for _, p := range pushed {
		t[stateNumber(p.State)]++
	}
	return t
}

// count replaces what the counts have of c.
func (x *index) count(c *claim, t tally) {
	for i := range t {
		x.counts[i] += t[i] - c.counted[i]
	}
	c.counted = t
}
