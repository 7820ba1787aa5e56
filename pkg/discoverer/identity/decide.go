// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package identity recognizes the cluster of a backend, so that changed credentials that lead to another cluster do not
// replace or delete the copies of the former one.
package identity

import (
	"slices"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// verdict is the result of comparing the connected cluster with the recorded one.
type verdict int

const (
	// same: it is the recorded cluster.
	same verdict = iota
	// first: no cluster was recorded yet.
	first
	// confirmed: it is another cluster, and an administrator confirmed it.
	confirmed
	// unidentified: no cluster was recorded, and nothing identifies this one.
	unidentified
	// another: it is another cluster.
	another
	// unreadable: nothing can be read of this cluster that was recorded.
	unreadable
)

// accepted reports whether the cluster may be copied.
func (v verdict) accepted() bool { return v <= unidentified }

// decide compares the connected cluster with the recorded one. What is to be recorded is returned, too. The ids of the
// cluster, of which one is sufficient, are those of observed; confirmation is the one that an administrator confirmed.
//
// A cluster is the same when one of its characteristics is: the Service default/kubernetes has another uid after it was
// deleted, and permissions to read the one or the other come and go.
func decide(recorded, observed []gimbalv1.ClusterIdentity, confirmation string) (v verdict, next []gimbalv1.ClusterIdentity) {
	if len(observed) == 0 {
		if len(recorded) == 0 {
			return unidentified, nil
		}
		return unreadable, recorded
	}
	if len(recorded) == 0 {
		return first, observed
	}
	compared := false
	for _, old := range recorded {
		if slices.Contains(observed, old) {
			return same, merged(recorded, observed)
		}
		compared = compared || find(observed, old.Object) >= 0
	}
	switch {
	case confirmation != "" && slices.ContainsFunc(observed, func(now gimbalv1.ClusterIdentity) bool { return now.ID == confirmation }):
		return confirmed, observed
	case compared:
		return another, recorded
	default:
		return unreadable, recorded
	}
}

// merged returns what is known of a cluster: what was observed, and what was recorded and cannot be read at the moment.
func merged(recorded, observed []gimbalv1.ClusterIdentity) []gimbalv1.ClusterIdentity {
	next := slices.Clone(observed)
	for _, old := range recorded {
		if find(observed, old.Object) < 0 {
			next = append(next, old)
		}
	}
	slices.SortStableFunc(next, func(a, b gimbalv1.ClusterIdentity) int {
		// The order of the recorded ones stays, so that nothing is written when nothing changed.
		return rank(recorded, a.Object) - rank(recorded, b.Object)
	})
	return next
}

func rank(recorded []gimbalv1.ClusterIdentity, object string) int {
	if i := find(recorded, object); i >= 0 {
		return i
	}
	return len(recorded)
}

func find(identities []gimbalv1.ClusterIdentity, object string) int {
	return slices.IndexFunc(identities, func(i gimbalv1.ClusterIdentity) bool { return i.Object == object })
}
