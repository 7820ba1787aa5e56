// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"math"
	"slices"
)

// fine is the sum of weights that express parts of the requests that no percentages do.
const fine = 10_000

// clusterOf returns what identifies the cluster of a backend, "" for no backend.
func clusterOf(backends Backends, backend string) string {
	if clusters, ok := backends.(Clusters); ok && backend != "" {
		return clusters.ClusterOf(backend)
	}
	return backend
}

// sameCluster reports whether two references lead to one cluster.
func (s *standing) sameCluster(i, j int) bool {
	return s.clusters[i] != "" && s.clusters[i] == s.clusters[j]
}

// weights returns the weights by which the references of a rule get their shares, and by what they are multiplied.
func (s *standing) weights(v *View) (set []*int64, scale int64) {
	wanted := v.parts(s.wanted, s.missing)
	if !s.divides(wanted) {
		return v.kind.flavor.drain(s.wanted, s.shares, s.missing)
	}
	return s.express(wanted, s.move(wanted)), 0
}

// divides reports whether a rule has two backends of one cluster that get different shares. The kinds distribute by weights, so that what
// the one does not get the other one would.
func (s *standing) divides(parts []float64) bool {
	for i := range parts {
		for j := range parts {
			if parts[i] > 0 && s.receives(j, parts) && s.shares[i] < s.shares[j] && s.sameCluster(i, j) {
				return true
			}
		}
	}
	return false
}

func (s *standing) receives(i int, parts []float64) bool { return parts[i] > 0 && !s.missing[i] }

// move returns the parts of the requests after what backends are not to get has moved to receivers of other clusters that get a
// larger share. Where there are none, nothing moves: only endpoints that are not ready keep the requests away.
func (s *standing) move(parts []float64) []float64 {
	next := slices.Clone(parts)
	for i := range parts {
		takes := func(j int) bool {
			return s.receives(j, parts) && s.shares[j] > s.shares[i] && !s.sameCluster(i, j)
		}
		sum := 0.0
		for j := range parts {
			if takes(j) {
				sum += parts[j]
			}
		}
		if sum == 0 {
			continue
		}
		moved := parts[i] * float64(whole-s.shares[i]) / whole
		next[i] -= moved
		for j := range parts {
			if takes(j) {
				next[j] += moved * parts[j] / sum
			}
		}
	}
	return next
}

// express returns weights for the parts that references get next, those wanted if nothing moves. Percentages are preferred.
func (s *standing) express(parts, next []float64) []*int64 {
	const exact = 1e-9
	sum, moves := float64(whole), false
	for i := range next {
		moves = moves || math.Abs(next[i]-parts[i]) > exact
		if percent := next[i] * whole; math.Abs(percent-math.Round(percent)) > exact {
			sum = fine
		}
	}
	set := make([]*int64, len(next))
	for i := range next {
		set[i] = s.wanted[i]
		switch {
		case !moves:
		case parts[i] > 0 && next[i] > exact:
			set[i] = new(max(int64(math.Round(next[i]*sum)), 1))
		case s.shares[i] == 0:
			set[i] = new(int64(0))
		}
	}
	return set
}
