// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// observations are what this process saw of the Leases of backends that are being deleted. The times in a Lease are of other
// clocks, so that a holder that died is only known by its silence.
type observations struct {
	mu   sync.Mutex
	seen map[types.UID]lease.Observation
}

func (o *observations) discard(backend types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, backend)
}

// awaitDiscoverer waits for every other discoverer, such as one that was started manually: as long as one holds the Lease of the
// backend, it would create the copies again. A discoverer stops when its backend is being deleted.
func (r *reconciler) awaitDiscoverer(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	key := client.ObjectKey{Namespace: backend.Namespace, Name: lease.Name(backend.Name)}
	current := &coordinationv1.Lease{}
	err := r.live.Get(ctx, key, current)
	switch {
	case apierrors.IsNotFound(err):
		current = nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("whether a discoverer works is unknown, because Lease %s cannot be read: apply artifacts/rbac", key), nil
	case err != nil:
		return "", fmt.Errorf("get Lease %s: %w", key, err)
	}
	r.leases.mu.Lock()
	defer r.leases.mu.Unlock()
	if r.leases.seen == nil {
		r.leases.seen = map[types.UID]lease.Observation{}
	}
	now := r.clock.Now()
	observation := r.leases.seen[backend.UID].Then(current, now)
	r.leases.seen[backend.UID] = observation
	if holder := observation.Holder(now); holder != "" {
		return fmt.Sprintf("discoverer %q holds Lease %s: it stops automatically, or stop it if it was started manually", holder, key), nil
	}
	return "", nil
}
