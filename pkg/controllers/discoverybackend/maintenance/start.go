// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// start is what was there when this process began to write. A record that is removed later is put back from the ledger; one that was
// removed before is missed only because the status of its backend reports that all routes had been written. The zero value knows
// nothing.
type start struct {
	mu    sync.Mutex
	begun bool
	// drained has since when all routes of a backend were written; nil for a backend of which that is not known.
	drained map[types.UID]*time.Time
	// routes were there without a record although they have a weight of 0, and were not reconciled since.
	routes map[routeKey]unrecorded
}

// unrecorded is a route that may have had a record.
type unrecorded struct {
	uid     types.UID
	created time.Time
}

// begin notes that from now on this process may write, so that what is stored is what the one before left.
func (s *start) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// sees notes of backends that were not seen yet how far they had been drained. It is called before anything is written for them.
func (s *start) sees(backends map[string]*gimbalv1.DiscoveryBackend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		return
	}
	for _, backend := range backends {
		if _, seen := s.drained[backend.UID]; !seen {
			if s.drained == nil {
				s.drained = map[types.UID]*time.Time{}
			}
			s.drained[backend.UID] = drainedSince(backend)
		}
	}
}

// drainedSince is since when all routes of a backend in maintenance were written, nil when they are not, when that is not known of its
// present specification, or when an earlier release wrote them, which recorded no 0 that a user wants.
func drainedSince(backend *gimbalv1.DiscoveryBackend) *time.Time {
	routes, ramp := backend.Status.Routes, backend.Status.Ramp
	drained := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	switch {
	case backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance, drained == nil, drained.ObservedGeneration != backend.Generation,
		routes == nil, routes.DrainedTime == nil, routes.Recorded == nil, ramp != nil && ramp.Percent > 0:
		return nil
	}
	return &routes.DrainedTime.Time
}

// follow notes routes that were there at the start, and discards those that a user has changed since.
func (s *start) follow(key routeKey, e resourcewatch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.Initial {
		if e.Old == nil || e.New == nil || e.Old.Generation != e.New.Generation {
			delete(s.routes, key)
		}
		return
	}
	kept, ok := e.New.Value.(*route)
	if !ok || kept.record != "" || !kept.view.HasZero() {
		return
	}
	if s.routes == nil {
		s.routes = map[routeKey]unrecorded{}
	}
	s.routes[key] = unrecorded{e.New.UID, e.New.CreationTimestamp.Time}
}

// settled notes that a route is as it should be.
func (s *start) settled(key routeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.routes, key)
}

// recorded returns the backends of which a route had a record before this process started, by their names.
func (s *start) recorded(key routeKey, uid types.UID, backends map[string]*gimbalv1.DiscoveryBackend) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	route, noted := s.routes[key]
	if !noted || route.uid != uid {
		return nil
	}
	names := map[string]bool{}
	for name, backend := range backends {
		since := s.drained[backend.UID]
		if since != nil && !route.created.After(*since) && backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
			names[name] = true
		}
	}
	return names
}
