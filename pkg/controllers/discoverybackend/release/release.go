// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package release removes the references to the Services of a backend from all routes, before these Services are deleted with their
// backend. It reads from the API server instead of a cache, because a missed route would refer to a deleted Service.
package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// pageSize is how many objects are listed at a time.
	pageSize = 500
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
	services := known.of(backend, r.AdminNamespaces)
	if len(services) == 0 {
		return Result{}, nil
	}
	namespace := backend.Namespace
	if reachesAll(backend, r.AdminNamespaces) {
		namespace = metav1.NamespaceAll
	}
	var found []*route
	var recorded []string
	for _, kind := range drain.Kinds() {
		more, err := r.list(ctx, kind, namespace)
		if err != nil {
			return Result{}, err
		}
		for _, route := range more {
			if drain.HasRemoved(route.object, backend.Name) {
				recorded = append(recorded, route.String())
			}
		}
		found = append(found, slices.DeleteFunc(more, func(route *route) bool {
			return !slices.ContainsFunc(kind.View(route.object.Object).Services(), services.Has)
		})...)
	}
	removal := drain.Removal{Backend: backend.Name, Deleted: services.Has}
	if r.Record {
		removal.Time = r.Clock.Now()
	}
	pass := &pass{References: r, known: known, removal: removal, result: Result{Recorded: recorded}}
	return pass.over(ctx, found)
}

// route is a route and where it is written.
type route struct {
	kind     *drain.Kind
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

func (r *route) String() string {
	return fmt.Sprintf("%s %s/%s", r.kind.Kind, r.object.GetNamespace(), r.object.GetName())
}

// list returns all routes of a kind, none when the kind is not served. Either they are complete, or there is an error.
func (r *References) list(ctx context.Context, kind *drain.Kind, namespace string) ([]*route, error) {
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
	served, err := r.Find(ctx, &resourcewatch.Kind{GroupResource: resource, Versions: kind.Versions})
	if err != nil || served == nil {
		return nil, err
	}
	var found []*route
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := r.Routes.Resource(*served).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		for i := range page.Items {
			found = append(found, &route{kind, *served, &page.Items[i]})
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}

// pass writes routes. Several are written immediately.
type pass struct {
	*References
	known *knowledge
	// removal is what is removed.
	removal drain.Removal

	mu     sync.Mutex
	writes int
	result Result
}

func (p *pass) over(ctx context.Context, routes []*route) (Result, error) {
	errs := make([]error, len(routes))
	slots := make(chan struct{}, parallelRoutes)
	var group sync.WaitGroup
	for i, route := range routes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = p.remove(ctx, route)
		})
	}
	group.Wait()
	for _, names := range [][]string{p.result.Removed, p.result.Rejected, p.result.Kept, p.result.Unrecorded} {
		slices.Sort(names)
	}
	slices.Sort(p.result.Recorded)
	p.result.Recorded = slices.Compact(p.result.Recorded)
	return p.result, errors.Join(errs...)
}

// remove takes the references out of one route, in the state in which it was read.
func (p *pass) remove(ctx context.Context, route *route) error {
	backends, err := p.backendsFor(ctx, p.known, route)
	if err != nil {
		return err
	}
	removed, err := route.kind.Remove(route.object, p.removal, backends)
	changed, kept := removed.Changed, removed.Kept
	p.mu.Lock()
	for _, reference := range kept {
		p.result.Kept = append(p.result.Kept, fmt.Sprintf("%s: %s", route, reference))
	}
	full := p.writes >= maxRoutes
	switch {
	case changed && full:
		p.result.Left++
	case changed:
		p.writes++
	}
	p.mu.Unlock()
	if err == nil && (!changed || full) {
		return nil
	}
	if err == nil {
		err = p.write(ctx, route)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.result.Removed = append(p.result.Removed, route.String())
		switch {
		case removed.Unrecorded:
			p.result.Unrecorded = append(p.result.Unrecorded, route.String())
		case drain.HasRemoved(route.object, p.removal.Backend):
			p.result.Recorded = append(p.result.Recorded, route.String())
		}
	case apierrors.IsNotFound(err):
	case apierrors.IsConflict(err):
		p.result.Left++
	case kit.IsUnavailable(err):
		return err
	default:
		p.result.Rejected = append(p.result.Rejected, err.Error())
	}
	return nil
}

// write updates a route, and then returns the ownership of the changed fields to their former managers in a second write. If the process
// exits in between, or the second write conflicts with another client, package maintenance performs it.
func (r *References) write(ctx context.Context, route *route) error {
	routes := r.Routes.Resource(route.resource).Namespace(route.object.GetNamespace())
	options := metav1.UpdateOptions{FieldManager: drain.Manager}
	updated, err := routes.Update(ctx, route.object, options)
	if err != nil {
		return fmt.Errorf("update %s: %w", route, err)
	}
	changed, err := drain.HandBack(updated)
	if err != nil || !changed {
		return err
	}
	if _, err := routes.Update(ctx, updated, options); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("hand back fields of %s: %w", route, err)
	}
	return nil
}
