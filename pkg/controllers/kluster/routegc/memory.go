// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Limits report how sure one has to be.
type Limits struct {
	// ConfirmAfter is how long a route must have been an orphan at least.
	ConfirmAfter time.Duration
	// Interval is the time between two passes, and how long it must have been one when much is to be removed.
	Interval time.Duration
	// MaxRemovalFraction is the part of the cluster's routes that may be orphans without that being suspicious.
	MaxRemovalFraction float64
}

// Suspicion is why a removal waits for a whole interval.
type Suspicion string

// Suspicions.
const (
	// NoServers means that Nova lists no server at all, though there are routes to some.
	NoServers Suspicion = "NoServers"
	// TooManyOrphans means that more than MaxRemovalFraction of the routes are orphans.
	TooManyOrphans Suspicion = "TooManyOrphans"
)

// Memory is what earlier passes saw of a cluster. Its zero value has seen nothing: after a restart of the process each
// orphan has to be seen twice again.
type Memory struct {
	// first is when each orphan was seen for the first time, without a reconciliation since that saw it in use.
	first map[openstack.Route]time.Time
	// suspicious is since when all passes are suspicious; zero: the last one was not.
	suspicious time.Time
}

// Orphan is a route that leads to no server.
type Orphan struct {
	openstack.Route
	Reason kubernikusv1.OrphanReason
	// Since is when it was observed first, Due when it is removed if it is still an orphan.
	Since, Due time.Time
}

func routesOf(orphans []Orphan) (all []openstack.Route) {
	for _, o := range orphans {
		all = append(all, o.Route)
	}
	return all
}

// verdict is what to do about the orphans.
type verdict struct {
	// remove are sure, wait are not yet.
	remove, wait []Orphan
	suspicion    Suspicion
	// again is when the first of those that wait may be sure; 0: none waits.
	again time.Duration
}

// judge checks the orphans of one reconciliation, in the light of those before it. It returns what to remember instead.
func (m Memory) judge(now time.Time, own []openstack.Route, orphans []Orphan, servers int, limits Limits) (Memory, verdict) {
	next := Memory{first: make(map[openstack.Route]time.Time, len(orphans))}
	v := verdict{suspicion: suspect(len(own), len(orphans), servers, limits.MaxRemovalFraction)}
	patience := limits.ConfirmAfter
	if v.suspicion != "" {
		if next.suspicious = m.suspicious; next.suspicious.IsZero() {
			next.suspicious = now
		}
		patience = max(patience, limits.Interval)
	}
	for _, o := range orphans {
		first, seen := m.first[o.Route]
		if !seen {
			first = now
		}
		next.first[o.Route], o.Since = first, first
		if next.suspicious.After(first) {
			first = next.suspicious
		}
		o.Due = first.Add(patience)
		left := o.Due.Sub(now)
		if seen && left <= 0 {
			v.remove = append(v.remove, o)
			continue
		}
		v.wait = append(v.wait, o)
		if left = max(left, time.Second); v.again == 0 || left < v.again {
			v.again = left
		}
	}
	return next, v
}

// suspect returns why a number of orphans is suspicious.
func suspect(own, orphans, servers int, limit float64) Suspicion {
	switch {
	case orphans == 0:
		return ""
	case servers == 0:
		return NoServers
	case float64(orphans) > limit*float64(own):
		return TooManyOrphans
	default:
		return ""
	}
}

// drop discards routes that were removed, so that they start again if they come back.
func (m Memory) drop(removed []openstack.Route) {
	for _, r := range removed {
		delete(m.first, r)
	}
}
