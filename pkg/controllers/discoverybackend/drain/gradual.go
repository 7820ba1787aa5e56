// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

const (
	// whole is the share of a backend that is not drained, in percent.
	whole = 100
	// finest is the least weight that can be reduced by a tenth.
	finest = 10
	// maxWeight is the largest weight that the Gateway API permits.
	maxWeight = 1_000_000
)

// gradual returns the weights by which receivers get only a share of their requests, in percent, and the other receivers of
// the rule the rest. set are the weights without that, implicit is what a receiver without a weight, or in an even
// distribution, counts as. Where all have the same share nothing changes: there is no other receiver to move requests to.
// scale is by what the weights are multiplied, because they are too small to take a tenth away; 0 when they are not.
func gradual(set []*int64, gets []bool, shares []int, implicit int64) (next []*int64, scale int64) {
	weight := func(i int) int64 {
		if !positive(set[i]) {
			return implicit
		}
		return *set[i]
	}
	low, high, least, most := whole, 0, int64(maxWeight), int64(0)
	for i := range set {
		if !gets[i] || shares[i] == 0 || weight(i) <= 0 {
			continue
		}
		low, high, most = min(low, shares[i]), max(high, shares[i]), max(most, weight(i))
		if shares[i] < whole {
			least = min(least, weight(i))
		}
	}
	if low >= high {
		return set, 0
	}
	factor := int64(1)
	if least < finest && most*finest <= maxWeight {
		factor, scale = finest, finest
	}
	next = make([]*int64, len(set))
	for i := range set {
		next[i] = set[i]
		if !gets[i] || shares[i] == 0 || weight(i) <= 0 {
			continue
		}
		scaled := weight(i) * factor
		if shares[i] < whole {
			scaled = max((scaled*int64(shares[i])+whole/2)/whole, 1)
		}
		if set[i] == nil || *set[i] != scaled {
			next[i] = &scaled
		}
	}
	return next, scale
}

// zero returns which shares are 0.
func zero(shares []int) []bool {
	is := make([]bool, len(shares))
	for i, share := range shares {
		is[i] = share == 0
	}
	return is
}
