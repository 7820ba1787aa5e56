// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// pulsePeriod is how often the Leases of discoverers are read while that matters to automatic maintenance. It is less than the duration
// of a Lease, so that each read shows whether the discoverer has renewed it since the one before.
const pulsePeriod = 10 * time.Second

// hear reads the Leases that the automatic maintenance of a backend depends on: its own and, unless it serves, those of the others until
// one of them is known to serve. What a discoverer that died had reported is no longer known. The times in a Lease are of another clock,
// so that only a renewal that this process has seen proves anything.
func (b *backends) hear(ctx context.Context, backend *gimbalv1.DiscoveryBackend, f fleet, now time.Time) (h heard) {
	h = heard{silent: sets.Set[types.UID]{}, ahead: map[types.UID]time.Duration{}}
	if b.live == nil || !backend.Cluster.Maintenance.Automatic || backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		return h
	}
	serves := reachabilityOf(backend, now).status == metav1.ConditionTrue && !status.IsAutomatic(backend) && backend.Status.Ramp == nil
	alive, known := b.isAlive(ctx, backend, now)
	defer func() {
		for _, other := range f.all {
			h.ahead[other.UID] = b.cluster.memory.of(other.UID).pulse.Ahead()
		}
	}()
	if known && !alive {
		h.silent.Insert(backend.UID)
	}
	if serves {
		return h
	}
	h.undecided = !known
	waits := false
	for _, other := range f.all {
		if !f.isBeside(other, backend, now) {
			continue
		}
		alive, known := b.isAlive(ctx, other, now)
		if alive {
			return h
		}
		h.silent.Insert(other.UID)
		waits = waits || !known
	}
	h.undecided = h.undecided || waits
	return h
}

// isAlive reads a Lease, unless that was done a moment ago, and reports whether the discoverer runs, if that is known.
func (b *backends) isAlive(ctx context.Context, backend *gimbalv1.DiscoveryBackend, now time.Time) (alive, known bool) {
	last := b.cluster.memory.of(backend.UID).pulse
	if !last.read.IsZero() && now.Sub(last.read) < pulsePeriod/2 {
		return last.Alive(now)
	}
	key := client.ObjectKey{Namespace: backend.Namespace, Name: lease.Name(backend.Name)}
	current := &coordinationv1.Lease{}
	switch err := b.live.Get(ctx, key, current); {
	case apierrors.IsNotFound(err):
		current = nil
	case err != nil:
		log.FromContext(ctx).V(1).Info("Failed to read the Lease of a discoverer", "lease", key, "err", err)
		return false, false
	}
	next := pulse{last.Then(current, now), now}
	b.cluster.memory.setPulse(backend.UID, next)
	return next.Alive(now)
}

// identityOf returns the identity of the cluster in which the controller runs, nil while it cannot be read: then no backend is known to be
// this cluster.
func identityOf(ctx context.Context, here *self.Cluster) []gimbalv1.ClusterIdentity {
	uid, err := here.UID(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Failed to read the identity of this cluster", "err", err)
	}
	return clusterid.OfUID(string(uid))
}

// get reads a route from the API server, nil when there is none.
func (r *routes) get(ctx context.Context, client dynamic.ResourceInterface, key routeKey) (*unstructured.Unstructured, error) {
	object, err := client.Get(ctx, key.name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", r.describe(key), err)
	}
	return object, nil
}
