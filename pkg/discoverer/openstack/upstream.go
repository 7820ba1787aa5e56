// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package openstack discovers the load balancers of an OpenStack cloud: what Octavia has in the projects of a user.
package openstack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
)

// Options are what an Upstream needs.
type Options struct {
	// Backend is the name of the backend.
	Backend string
	Cloud   Cloud
	// Recognize returns an error if the cloud with this identity must not be copied. It may be nil: every cloud is copied.
	Recognize func(ctx context.Context, observed []gimbalv1.ClusterIdentity) error
	// Contact is called after each listing with whether the cloud has responded.
	Contact func(report.Response)
	// Watchlist are the names or ids of the projects that are discovered, all when it is empty.
	Watchlist []string
	// Admits reports whether a namespace is discovered.
	Admits func(namespace string) bool
	// Threads is how many requests go to the cloud at the same time.
	Threads int
	Ledger  *report.Ledger
	// Subject is under what the ledger has problems with the backend as a whole.
	Subject string
	Meters  *telemetry.Meters
	Clock   clock.WithTicker
}

// Upstream is an OpenStack cloud as a backend.
type Upstream struct {
	Options
	listener replica.Listener
	// passing is held by a sync. Only passes change what mu guards. reading is held by one that waits for a sync.
	passing, reading sync.Mutex
	// The keys under which the ledger has problems.
	reported sets.Set[string]

	mu sync.Mutex
	// tenants are the projects as last listed, by id.
	tenants map[string]*tenant
	// sources are what is to be copied.
	sources map[types.NamespacedName]*desired.Source
	// listed reports that some project was listed, or that there is none to list.
	listed bool
	// asOf is when the sync began that sources are of.
	asOf time.Time
	// partial reports that there may be projects that are not in tenants.
	partial bool
}

// New returns an Upstream whose caches are empty.
func New(options Options) *Upstream {
	return &Upstream{
		Options: options, tenants: map[string]*tenant{}, sources: map[types.NamespacedName]*desired.Source{}, partial: true,
		reported: sets.New[string](),
	}
}

// Listen implements replica.Upstream. The listener never hears that something has certainly been deleted: only a listing shows
// that.
func (u *Upstream) Listen(to replica.Listener) { u.listener = to }

// Synced reports whether the projects were listed once, as far as they can be.
func (u *Upstream) Synced() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.listed
}

// Keys returns the namespaces and names of all load balancers.
func (u *Upstream) Keys() []types.NamespacedName {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.sources))
}

// Source returns a load balancer as a service.
func (u *Upstream) Source(key types.NamespacedName) (source *desired.Source, excluded bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sources[key], false
}

// Read returns a load balancer as a service, as the cloud had it at a time or later. It lists the cloud if that was not done since.
func (u *Upstream) Read(ctx context.Context, key types.NamespacedName, since time.Time) (source *desired.Source, excluded bool, err error) {
	u.reading.Lock()
	defer u.reading.Unlock()
	u.mu.Lock()
	outdated := u.asOf.Before(since)
	u.mu.Unlock()
	if outdated {
		if err := u.pass(ctx); err != nil {
			return nil, false, err
		}
	}
	source, excluded = u.Source(key)
	return source, excluded, nil
}

// Unknown reports about a load balancer that does not exist whether that is not known: its project could not be listed, it is being
// changed, or its project has lost its namespace to another.
func (u *Upstream) Unknown(key types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sources[key] != nil {
		return false
	}
	there := false
	for _, t := range u.tenants {
		if t.namespace != key.Namespace {
			continue
		}
		there = true
		if t.failing || t.unsettled.Has(key.Name) || t.sources[key.Name] != nil {
			return true
		}
	}
	return !there && u.partial
}

// Copies lists the cloud again and returns the copies that its load balancers should have. It is an error when something cannot be
// listed that could be at the sync before: from then on what that has is not known.
func (u *Upstream) Copies(ctx context.Context) (sets.Set[desired.Ref], error) {
	if err := u.pass(ctx); err != nil {
		return nil, err
	}
	copies := sets.New[desired.Ref]()
	for _, key := range u.Keys() {
		source, _ := u.Source(key)
		if source == nil {
			return nil, errors.New("the cloud was listed once more at the same time")
		}
		copies.Insert(desired.Build(u.Backend, source).Refs()...)
	}
	return copies, nil
}

// Run lists the cloud now and every period, until ctx is done.
func (u *Upstream) Run(ctx context.Context, period clock.Ticker) {
	defer period.Stop()
	for {
		_ = u.pass(ctx) // which has reported the problem
		select {
		case <-ctx.Done():
			return
		case <-period.C():
		}
	}
}
