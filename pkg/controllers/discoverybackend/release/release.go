// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package release removes the references to the Services of a backend from all routes, before these Services are deleted with their
// backend. It reads from the API server instead of a cache, because a missed route would refer to a deleted Service.
package release

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// maxRoutes bounds the routes that one reconciliation writes, so that no worker is busy with one backend for long.
	maxRoutes = 200
	// parallelRoutes is how many are written concurrently.
	parallelRoutes = 8
)

// References are the references of routes to the Services of backends.
type References struct {
	// Live reads from the API server.
	Live client.Reader
	// Routes reads and writes routes.
	Routes dynamic.Interface
	// Find reports in which version a kind of route is served.
	Find resourcewatch.Finder
	// AdminNamespaces are those whose backends reach every namespace.
	AdminNamespaces []string
	// Record is whether removed references are recorded in their routes, so that Restore can put them back.
	Record bool
	Clock  clock.PassiveClock
}

// Result is what a reconciliation did. Routes are named as Kind namespace/name.
type Result struct {
	// Removed are the routes that were written.
	Removed []string
	// Left is how many routes are still to be written.
	Left int
	// Rejected are the routes whose change the API server rejected, with the reasons.
	Rejected []string
	// Kept are the references that have to remain, because their route would be invalid without them, with the reasons.
	Kept []string
	// Recorded are all routes that have a record of references removed for the backend, also by earlier passes.
	Recorded []string
	// Unrecorded are routes whose annotations have no place for a record.
	Unrecorded []string
}

// Remove takes references to the Services of a backend out of routes within its reach. It is done when nothing is left or rejected.
// After an error the remaining references are unknown; what was written before it remains valid.
func (r *References) Remove(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (Result, error) {
	known, err := r.survey(ctx)
	if err != nil {
		return Result{}, err
	}
	services := known.of(backend)
	if len(services) == 0 {
		return Result{}, nil
	}
	p := &pass{References: r, known: known, removal: drain.Removal{Backend: backend.Name, Deleted: services.Has}}
	if r.Record {
		p.removal.Time = r.Clock.Now()
	}
	var found []*route
	for _, kind := range drain.Kinds() {
		more, err := r.list(ctx, kind, status.Reach(backend, r.AdminNamespaces))
		if err != nil {
			return Result{}, err
		}
		for _, route := range more {
			if drain.HasRemoved(route.object, backend.Name) {
				p.result.Recorded = append(p.result.Recorded, route.String())
			}
		}
		found = append(found, slices.DeleteFunc(more, func(route *route) bool {
			return !slices.ContainsFunc(kind.View(route.object.Object).Services(), services.Has)
		})...)
	}
	errs := make([]error, len(found))
	var group errgroup.Group
	group.SetLimit(parallelRoutes)
	for i, route := range found {
		group.Go(func() error {
			errs[i] = p.remove(ctx, route)
			return nil
		})
	}
	_ = group.Wait()
	for _, names := range [][]string{p.result.Removed, p.result.Rejected, p.result.Kept, p.result.Unrecorded, p.result.Recorded} {
		slices.Sort(names)
	}
	p.result.Recorded = slices.Compact(p.result.Recorded)
	return p.result, errors.Join(errs...)
}

// pass writes routes. Several are written at the same time.
type pass struct {
	*References
	known   *knowledge
	removal drain.Removal

	mu     sync.Mutex
	writes int
	result Result
}

// Restoration is what Restore did to one route, or would do.
type Restoration struct {
	// Route is Kind namespace/name.
	Route string
	// Elements are the parts of its spec that have their references back.
	Elements []string
	// Skipped are those that do not, and why.
	Skipped []string
	// Err is why the route could not be written.
	Err error
}

// Restore puts the references to the copied Services of a backend back that were removed with an earlier backend of the
// name, where routes still are as the removal left them. Those to a backend in maintenance come back drained. With a preview it writes
// nothing. An error means that not all routes are known.
func (r *References) Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend, preview bool) ([]Restoration, error) {
	known, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	services := known.of(backend)
	var done []Restoration
	for _, kind := range drain.Kinds() {
		routes, err := r.list(ctx, kind, metav1.NamespaceAll)
		if err != nil {
			return done, err
		}
		for _, route := range routes {
			if drain.HasRemoved(route.object, backend.Name) {
				done = append(done, r.restore(ctx, known, route, backend.Name, services.Has, preview))
			}
		}
	}
	return done, nil
}
