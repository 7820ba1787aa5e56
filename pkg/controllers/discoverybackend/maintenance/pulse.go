// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// pulsePeriod is how often the Leases of discoverers are read while that matters to automatic maintenance. It is less than the duration
// of a Lease, so that each read shows whether the discoverer has renewed it since the one before.
const pulsePeriod = 10 * time.Second

// pulses observes whether discoverers run, by their Leases: what one that died had reported is no longer known. The times in a Lease are of
// another clock, so that only a renewal that this process has seen proves anything.
type pulses struct {
	live client.Reader

	mu   sync.Mutex
	seen map[types.UID]pulse
}

// pulse is what is known of one discoverer.
type pulse struct {
	lease.Observation
	read time.Time
}

// heard is what is known of the discoverers that a decision about a backend depends on.
type heard struct {
	// silent are the backends whose discoverer is not known to run.
	silent sets.Set[types.UID]
	// undecided is set when the decision has to wait for the next read of a Lease.
	undecided bool
}

// around reads the Leases that the automatic maintenance of a backend depends on: its own and, unless it serves, those of the others until
// one of them is known to serve.
func (p *pulses) around(ctx context.Context, backend *gimbalv1.DiscoveryBackend, f fleet, now time.Time) heard {
	h := heard{silent: sets.Set[types.UID]{}}
	if p == nil || !backend.Cluster.Maintenance.Automatic || backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		return h
	}
	p.discard(f.all)
	serves := reachabilityOf(backend, now).status == metav1.ConditionTrue && !status.IsAutomatic(backend) && backend.Status.Ramp == nil
	alive, known := p.check(ctx, backend, now)
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
		alive, known := p.check(ctx, other, now)
		if alive {
			return h
		}
		h.silent.Insert(other.UID)
		waits = waits || !known
	}
	h.undecided = h.undecided || waits
	return h
}

// check reads a Lease, unless that was done a moment ago, and reports whether the discoverer runs, if that is known.
func (p *pulses) check(ctx context.Context, backend *gimbalv1.DiscoveryBackend, now time.Time) (alive, known bool) {
	p.mu.Lock()
	last := p.seen[backend.UID]
	p.mu.Unlock()
	if !last.read.IsZero() && now.Sub(last.read) < pulsePeriod/2 {
		return last.Alive(now)
	}
	key := client.ObjectKey{Namespace: backend.Namespace, Name: lease.Name(backend.Name)}
	current := &coordinationv1.Lease{}
	switch err := p.live.Get(ctx, key, current); {
	case apierrors.IsNotFound(err):
		current = nil
	case err != nil:
		log.FromContext(ctx).V(1).Info("Failed to read the Lease of a discoverer", "lease", key, "err", err)
		return false, false
	}
	next := pulse{last.Then(current, now), now}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[types.UID]pulse{}
	}
	p.seen[backend.UID] = next
	return next.Alive(now)
}

// discard drops what is known of backends that do not exist any more.
func (p *pulses) discard(all map[string]*gimbalv1.DiscoveryBackend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) <= len(all) {
		return
	}
	exist := sets.Set[types.UID]{}
	for _, backend := range all {
		exist.Insert(backend.UID)
	}
	for uid := range p.seen {
		if !exist.Has(uid) {
			delete(p.seen, uid)
		}
	}
}
