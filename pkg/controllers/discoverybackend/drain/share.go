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

// weights returns the weights by which the references of a rule get their shares. Where they are parts of another sum than those that users
// want, wholes are what the wanted ones are in this sum; otherwise it is nil.
func (s *standing) weights(v *View) (set, wholes []*int64) {
	if s.differ() {
		if parts := v.parts(s.wanted, s.missing); s.divides(parts) {
			return s.express(s.wanted, parts, parts, s.move(parts, false))
		}
	}
	set = v.kind.flavor.drain(s.wanted, s.shares, s.missing)
	if !s.ramps() {
		return set, nil
	}
	left := v.parts(set, s.missing)
	return s.express(set, v.parts(s.wanted, s.missing), left, s.move(left, true))
}

// differ reports whether two backends of one cluster have different shares.
func (s *standing) differ() bool {
	for i := range s.shares {
		for j := range s.shares {
			if s.shares[i] < s.shares[j] && s.sameCluster(i, j) {
				return true
			}
		}
	}
	return false
}

// ramps reports whether a backend gets a part of its share.
func (s *standing) ramps() bool {
	return slices.ContainsFunc(s.shares, func(share int) bool { return share > 0 && share < whole })
}

// divides reports whether a rule has two backends of one cluster that get different shares. The kinds distribute by weights, so that what
// the one does not get the other one would.
func (s *standing) divides(parts []float64) bool {
	for i := range parts {
		for j := range parts {
			if parts[i] > 0 && parts[j] > 0 && !s.missing[j] && s.shares[i] < s.shares[j] && s.sameCluster(i, j) {
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
	for _, share := range slices.Compact(slices.Sorted(slices.Values(s.shares))) {
		from := parts
		if inTurn {
			from = slices.Clone(next)
		}
		for i := range parts {
			takes := func(j int) bool {
				return parts[j] > 0 && !s.left[j] && s.shares[j] > share && !s.sameCluster(i, j)
			}
			sum := 0.0
			for j := range parts {
				if takes(j) {
					sum += from[j]
				}
			}
			if s.shares[i] != share || sum == 0 {
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

// express returns weights for the parts that references get next, those given if nothing moves. wholes are what the wanted parts are in the
// same sum; parts are those by the weights given.
func (s *standing) express(given []*int64, wanted, parts, next []float64) (set, wholes []*int64) {
	moves, left := false, 0.0
	for i := range next {
		moves = moves || math.Abs(next[i]-parts[i]) > exact
		if parts[i] > 0 {
			left += wanted[i]
		}
	}
	set = slices.Clone(given)
	if !moves {
		return set, nil
	}
	sum := sumFor(next)
	wholes = make([]*int64, len(next))
	for i := range next {
		if wanted[i] > 0 {
			wholes[i] = weightOf(wanted[i]/left, sum)
		}
		switch {
		case parts[i] > 0 && (s.shares[i] > 0 || next[i] > exact): // one of share 0 may have nowhere to move its requests to
			set[i] = weightOf(next[i], sum)
		case s.shares[i] == 0:
			set[i] = new(int64(0))
		}
	}
	return set, wholes
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
