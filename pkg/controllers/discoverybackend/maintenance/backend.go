// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// statusPeriod is the least time between two writes of one status.
	statusPeriod = time.Second
	// minPeriod is the pause after a check that took longer than statusPeriod, because it wrote many EndpointSlices.
	minPeriod = time.Millisecond
	// checkPeriod is how often a backend is checked when nothing is heard: a kind that appears or disappears with its objects is no
	// event of an object.
	checkPeriod = resourcewatch.DiscoveryPeriod
)

// Readiness withholds the endpoints of a backend, whatever the backend reports about them, and lets them be ready again.
type Readiness interface {
	// Withhold makes the copied endpoints of some Services of a backend not ready, and those of its others as ready as the
	// backend reports. It returns how many EndpointSlices are still to be changed. 0 means that all have been changed.
	Withhold(ctx context.Context, backend *gimbalv1.DiscoveryBackend, services readiness.Services) (pending int, err error)
	// Restore makes all of them as ready as the backend reports, and returns the same.
	Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (pending int, err error)
}

// backends reports in the status of each backend the progress of its maintenance, and changes its endpoints when weights are of no
// help. Its requests name DiscoveryBackends.
type backends struct {
	cluster   *cluster
	observer  *observer
	readiness Readiness
	client    client.Client
	clock     clock.PassiveClock
	recorder  events.EventRecorder
	meters    *meters
	written   *writes
	checked   *checks
	steps     *steps
	automatic *automatic
	pulses    *pulses
	here      *self.Cluster
	// restored requests a check of all routes of a backend.
	restored func(ctx context.Context, name string)
}

// Reconcile checks one backend.
func (b *backends) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	all, err := b.cluster.backends(ctx)
	if err != nil {
		return unknown(ctx, err), nil
	}
	backend := all[request.Name]
	if backend == nil || backend.Namespace != request.Namespace {
		b.meters.remove(request.Name)
		b.written.discard(request.NamespacedName)
		b.checked.discard(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if b.written.ahead(backend, b.clock.Now()) {
		return reconcile.Result{RequeueAfter: checkPeriod}, nil // the event of Groundskeeper's own write is on the way
	}
	// One check per second suffices for any number of events of routes.
	began := b.clock.Now()
	if wait := b.checked.wait(request.NamespacedName, backend.ResourceVersion, began); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	withheld, err := b.restoreEndpoints(ctx, backend)
	if err != nil {
		return reconcile.Result{}, err
	}
	phase := phaseOf(backend, b.cluster.restored.has(backend.UID))
	now := b.clock.Now()
	heard := b.pulses.around(ctx, backend, fleet{all: all, clusters: clustersOf(all), admins: b.automatic.admins}, now)
	condition, due := b.automatic.decide(backend, all, heard, now)
	found, err := b.observer.observe(ctx, backend)
	if err != nil {
		return b.reportUnknown(ctx, backend, err)
	}
	found.twins, found.alone = twinsOf(backend, all, identityOf(ctx, b.here)), b.automatic.alone(backend, all, heard, now)
	if isWithholding(backend) {
		if withheld, err = b.withholdEndpoints(ctx, backend, found); err != nil {
			return reconcile.Result{}, err
		}
	}
	b.meters.matching.WithLabelValues(backend.Name).Set(float64(found.matching))
	b.meters.pending.WithLabelValues(backend.Name).Set(float64(found.left + len(found.rejected)))
	b.steps.discard(all)
	next := planFor(backend, phase, found, withheld, b.steps.since(backend, now), now)
	b.steps.plan(backend.UID, next.ramp, next.rampSince)
	next.automatic = condition
	b.meters.setAutomatic(backend, condition)
	b.meters.drained.WithLabelValues(backend.Name).Set(float64(next.routes.Drained))
	b.meters.share.WithLabelValues(backend.Name).Set(float64(found.share(int32(shareOf(backend, phase, true)))))
	if next.withhold {
		// From here on the weights wait for the endpoints, even if this process does not live to write the status.
		b.cluster.restored.remove(backend.UID)
	}
	wait, err := b.write(ctx, backend, next)
	if err != nil {
		return reconcile.Result{}, err
	}
	after := checkPeriod
	for _, sooner := range []time.Duration{next.after, wait, due} {
		if sooner > 0 {
			after = min(after, sooner)
		}
	}
	if withheld.pending > 0 || found.unsettled > 0 || phase == phaseHeld {
		after = min(after, max(statusPeriod-b.clock.Since(began), minPeriod))
	}
	return reconcile.Result{RequeueAfter: after}, nil
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
		return endpoints{}, fmt.Errorf("withhold the endpoints of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
	}
	return endpoints{requested: true, pending: pending}, nil
}

// restoreEndpoints restores the endpoints of a backend of which none are to be withheld, before any weight.
func (b *backends) restoreEndpoints(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (endpoints, error) {
	if isWithholding(backend) {
		b.cluster.restored.remove(backend.UID)
	}
	if backend.Status.EndpointsDrained || b.cluster.restored.has(backend.UID) {
		return endpoints{}, nil
	}
	pending, err := b.readiness.Restore(ctx, backend)
	if err != nil {
		return endpoints{}, fmt.Errorf("restore the endpoints of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
	}
	if pending == 0 && b.cluster.restored.add(backend.UID) {
		log.FromContext(ctx).V(1).Info("No endpoint of a backend is withheld", "backend", backend.Name)
		b.restored(ctx, backend.Name)
	}
	return endpoints{requested: true, pending: pending}, nil
}
