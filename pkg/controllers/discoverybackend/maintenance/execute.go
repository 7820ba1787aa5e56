// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// Readiness is what maintenance uses of readiness.Endpoints.
type Readiness interface {
	// Withhold makes the copied endpoints of some Services of a backend not ready, and those of its others as ready as the
	// backend reports. It returns how many EndpointSlices are still to be changed.
	Withhold(ctx context.Context, backend *gimbalv1.DiscoveryBackend, services readiness.Services) (pending int, err error)
	// Restore makes all of them as ready as the backend reports, and returns the same.
	Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (pending int, err error)
}

// update writes an object in the state that was read, or nothing.
func (r *routes) update(
	ctx context.Context, client dynamic.ResourceInterface, key routeKey, object *unstructured.Unstructured, what string,
) (*unstructured.Unstructured, error) {
	updated, err := client.Update(ctx, object, metav1.UpdateOptions{FieldManager: drain.Manager})
	if err != nil {
		return object, fmt.Errorf("update %s: %w", r.describe(key), err)
	}
	r.meters.writes.WithLabelValues(what).Inc()
	r.cluster.memory.wrote(key, updated, routeOf(r.cluster.kind(key.resource), updated.Object), r.clock.Now())
	return updated, nil
}

// handBack gives fields back to their owners before Groundskeeper's last write, if they had any.
func (r *routes) handBack(
	ctx context.Context, client dynamic.ResourceInterface, key routeKey, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	changed, err := drain.HandBack(object)
	if err != nil {
		return object, rejection{err}
	}
	if !changed {
		return object, nil
	}
	return r.update(ctx, client, key, object, writeOwners)
}

// rejection is an error that an immediate retry does not fix.
type rejection struct{ error }

func (r rejection) Unwrap() error { return r.error }

// isRejected reports whether an error is a response that will be the same the next time: of validation, of admission, of the
// authorizer. A webhook that does not respond counts too, since it blocks the maintenance for as long.
func isRejected(err error) bool {
	if rejected := (rejection{}); errors.As(err, &rejected) {
		return true
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) {
		return false
	}
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status)
}

// reason returns what the API server responded.
func reason(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}

// isWithholding reports whether endpoints of a backend are to be withheld. Its status is written first, so that a discoverer
// that starts meanwhile keeps them withheld.
func isWithholding(backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Status.EndpointsDrained && backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance
}

// withholdEndpoints withholds the endpoints of the Services of which weights may not keep requests away, and no others. The
// endpoints of Services in a route whose weights are still to be written remain unchanged until then.
func (b *backends) withholdEndpoints(ctx context.Context, backend *gimbalv1.DiscoveryBackend, found facts) (endpoints, error) {
	var services readiness.Services
	if !status.KeepsSole(backend) {
		services = readiness.Services{Withhold: found.withhold, Leave: found.unwritten.Difference(found.withhold)}
	}
	pending, err := b.readiness.Withhold(ctx, backend, services)
	if err != nil {
		return endpoints{}, fmt.Errorf("withhold the endpoints of DiscoveryBackend %s: %w", client.ObjectKeyFromObject(backend), err)
	}
	return endpoints{requested: true, pending: pending}, nil
}

// restoreEndpoints restores the endpoints of a backend of which none are to be withheld, before any weight.
func (b *backends) restoreEndpoints(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (endpoints, error) {
	memory := b.cluster.memory
	if isWithholding(backend) {
		memory.setRestored(backend.UID, false)
	}
	if backend.Status.EndpointsDrained || memory.of(backend.UID).restored {
		return endpoints{}, nil
	}
	pending, err := b.readiness.Restore(ctx, backend)
	if err != nil {
		return endpoints{}, fmt.Errorf("restore the endpoints of DiscoveryBackend %s: %w", client.ObjectKeyFromObject(backend), err)
	}
	if pending == 0 && memory.setRestored(backend.UID, true) {
		log.FromContext(ctx).V(1).Info("No endpoint of a backend is withheld", "backend", backend.Name)
		b.restored(ctx, backend.Name)
	}
	return endpoints{requested: true, pending: pending}, nil
}

// write writes the planned status if it differs from the current one, and returns how long to wait if the previous write was too
// recent.
func (b *backends) write(ctx context.Context, backend *gimbalv1.DiscoveryBackend, next plan) (time.Duration, error) {
	own, err := status.OwnErrors(backend, drain.Manager)
	if err != nil {
		return 0, err
	}
	now := b.clock.Now()
	reported := []metav1.Condition{next.condition}
	for _, optional := range []*metav1.Condition{next.automatic, next.unique} {
		if optional != nil {
			reported = append(reported, *optional)
		}
	}
	conditions, changed := status.Conditions(backend, reported, now)
	changed = changed || next.automatic == nil && automaticOf(backend) != nil || next.unique == nil && uniqueOf(backend) != nil
	errors, otherErrors := status.Errors(own, next.errors, now)
	if !changed && !otherErrors && backend.Status.EndpointsDrained == next.withhold &&
		equality.Semantic.DeepEqual(backend.Status.Routes, &next.routes) && equality.Semantic.DeepEqual(backend.Status.Ramp, next.ramp) {
		return 0, nil
	}
	if wait := b.cluster.memory.writeWait(backend.UID, now); wait > 0 {
		return wait, nil
	}
	applied := status.Apply(backend, conditions, errors)
	applied.Status.WithRoutes(routesApplied(&next.routes))
	if ramp := next.ramp; ramp != nil {
		applied.Status.WithRamp(gimbalapply.RampStatus().WithPercent(ramp.Percent).WithFrom(ramp.From).WithTo(ramp.To).
			WithStartTime(*ramp.StartTime))
	}
	if next.withhold {
		applied.Status.WithEndpointsDrained(true)
	}
	err = b.client.Status().Apply(ctx, applied,
		client.FieldOwner(drain.Manager), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("apply the status of DiscoveryBackend %s: %w", client.ObjectKeyFromObject(backend), err)
	}
	// The version is that of the response; a backend that has been deleted has none.
	b.cluster.memory.wroteStatus(backend.UID, ptr.Deref(applied.ResourceVersion, ""), now)
	b.announce(ctx, backend, next.condition)
	b.announceStep(backend, next.ramp)
	b.announceAutomatic(ctx, backend, next.automatic)
	b.announceFailing(backend, next.failing)
	b.announceFailover(backend, own, next.errors)
	return 0, nil
}

func routesApplied(routes *gimbalv1.RouteStatus) *gimbalapply.RouteStatusApplyConfiguration {
	applied := gimbalapply.RouteStatus().WithMatching(routes.Matching).WithDrained(routes.Drained)
	applied.Recorded, applied.DrainedTime = routes.Recorded, routes.DrainedTime
	if names := routes.WithoutAlternative; names != nil {
		applied.WithWithoutAlternative(gimbalapply.RouteNames().WithNames(names.Names...).WithCount(names.Count))
	}
	if names := routes.WithoutEndpoints; names != nil {
		applied.WithWithoutEndpoints(gimbalapply.RouteNames().WithNames(names.Names...).WithCount(names.Count))
	}
	return applied
}
