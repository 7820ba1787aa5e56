// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"math"
	"slices"
)

const (
	// whole is the share of a backend that is not drained, in percent.
	whole = 100
	// precise is by how much a weight may differ from the part of the requests that it stands for.
	precise = 1e-3
	// exact is what two parts may differ by and still are the same.
	exact = 1e-9
)

// sums are those that weights which express parts of the requests may have, the preferred one first: percentages. The Gateway API permits
// no weight above the last one.
var sums = []float64{whole, 10_000, 1_000_000}

// weigh finds the weights by which the references of a rule get their shares.
func (s *standing) weigh(v *View) {
	for i := range s.slots {
		s.slots[i].set = s.slots[i].wanted
	}
	if !some(s.slots, func(x *slot) bool { return x.share < whole }) {
		return
	}
	before := v.parts(s.slots, wanted)
	if s.divides(before) {
		s.express(before, before, s.move(before, false))
		return
	}
	v.kind.flavor.drain(s.slots)
	if some(s.slots, func(x *slot) bool { return x.share > 0 && x.share < whole }) {
		parts := v.parts(s.slots, set)
		s.express(before, parts, s.move(parts, true))
	}
}

// divides reports whether a rule has two backends of one cluster that get different shares. The kinds distribute by weights, so that what
// the one does not get the other one would.
func (s *standing) divides(parts []float64) bool {
	for i := range parts {
		for j := range parts {
			x, y := &s.slots[i], &s.slots[j]
			if parts[i] > 0 && parts[j] > 0 && !y.target.Missing && x.share < y.share && x.sameCluster(y) {
				return true
			}
		}
	}
	return false
}

// move returns the parts of the requests after what backends are not to get has moved to valid receivers of other clusters that get a
// larger share, the smallest share first. inTurn takes the share of what a receiver has by then, so that the last tenth of it is not more
// than the others; otherwise a backend would get what one of its cluster loses. Where there are no such receivers, nothing moves.
func (s *standing) move(parts []float64, inTurn bool) []float64 {
	next := slices.Clone(parts)
	for _, share := range s.shares() {
		from := parts
		if inTurn {
			from = slices.Clone(next)
		}
		for i := range parts {
			takes := func(j int) bool {
				y := &s.slots[j]
				return parts[j] > 0 && !y.isLeft() && y.share > share && !s.slots[i].sameCluster(y)
			}
			sum := 0.0
			for j := range parts {
				if takes(j) {
					sum += from[j]
				}
			}
			if s.slots[i].share != share || sum == 0 {
				continue
			}
			moved := from[i] * float64(whole-share) / whole
			next[i] -= moved
			for j := range parts {
				if takes(j) {
					next[j] += moved * from[j] / sum
				}
			}
		}
	}
	return next
}

// shares returns those of all references, each once, the smallest one first.
func (s *standing) shares() []int {
	shares := make([]int, len(s.slots))
	for i := range s.slots {
		shares[i] = s.slots[i].share
	}
	slices.Sort(shares)
	return slices.Compact(shares)
}

// express sets weights for the parts that references get next, unless nothing moves, and what the wanted parts are in the same sum; parts
// are those by the weights that are set.
func (s *standing) express(wanted, parts, next []float64) {
	moves, left := false, 0.0
	for i := range next {
		moves = moves || math.Abs(next[i]-parts[i]) > exact
		if parts[i] > 0 {
			left += wanted[i]
		}
	}
	if !moves {
		return
	}
	sum := sumFor(next)
	for i := range next {
		x := &s.slots[i]
		if wanted[i] > 0 {
			x.whole = weightOf(wanted[i]/left, sum)
		}
		switch {
		case parts[i] > 0 && (x.share > 0 || next[i] > exact): // one of share 0 may have nowhere to move its requests to
			x.set = weightOf(next[i], sum)
		case x.share == 0:
			x.set = new(int64(0))
		}
	}
}

// sumFor returns the first sum whose weights are precise enough.
func sumFor(parts []float64) float64 {
	for _, sum := range sums {
		if !slices.ContainsFunc(parts, func(part float64) bool {
			return part > exact && math.Abs(math.Round(part*sum)/sum-part) > part*precise
		}) {
			return sum
		}
	}
	return sums[len(sums)-1]
}

// weightOf is the weight of a part of a sum, at least 1: a receiver stays one.
func weightOf(part, sum float64) *int64 {
	return new(int64(max(math.Round(min(part*sum, sums[len(sums)-1])), 1)))
}
