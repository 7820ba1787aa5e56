// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// maxStablePeriod limits how long a Service that fails over repeatedly has to be ready before its traffic returns, and is how long it has
// to be ready for its earlier failures to be forgotten.
const maxStablePeriod = time.Hour

// failover is what this process observed of the endpoints of a copied Service. The zero value is that of a Service not seen yet.
type failover struct {
	// ready is whether one was ready at the last check, since is when that was first so.
	ready bool
	since time.Time
	// over is set while the requests go to other receivers, count is how often that began.
	over  bool
	count int
}

// next returns what is known after a check, and how long it is until the requests may have to move without an event; 0 for never. recorded
// reports whether routes have a record that they were moved, as before a restart.
func (f failover) next(policy gimbalv1.ServiceMaintenancePolicy, ready, recorded bool, now time.Time) (failover, time.Duration) {
	if f.since.IsZero() {
		f = failover{ready: ready, since: now}
	}
	if recorded && f.count == 0 { // not every route has a record, and another one may have been checked first
		f.over, f.count = true, 1
	}
	if f.ready && !f.over && now.Sub(f.since) >= maxStablePeriod {
		f.count = 0
	}
	if f.ready != ready {
		f.ready, f.since = ready, now
	}
	if f.over != f.ready { // the requests are where they are to be
		return f, 0
	}
	needed := unreadyPeriod(policy)
	if f.over {
		needed = returnPeriod(policy, f.count)
	}
	if left := needed - now.Sub(f.since); left > 0 {
		return f, left
	}
	if f.over = !ready; f.over {
		f.count++
	}
	return f, 0
}

// isForgotten reports whether nothing of a Service is worth keeping.
func (f failover) isForgotten() bool { return f.ready && !f.over && f.count == 0 }

// returnPeriod is how long a Service has to be ready before its traffic returns. It doubles with each failover.
func returnPeriod(policy gimbalv1.ServiceMaintenancePolicy, count int) time.Duration {
	period := ptr.Deref(policy.StablePeriod, metav1.Duration{Duration: gimbalv1.DefaultServiceStablePeriod}).Duration
	longest := max(period, maxStablePeriod)
	for range count - 1 {
		if period *= 2; period >= longest {
			return longest
		}
	}
	return period
}

func unreadyPeriod(policy gimbalv1.ServiceMaintenancePolicy) time.Duration {
	return ptr.Deref(policy.UnreadyPeriod, metav1.Duration{Duration: gimbalv1.DefaultUnreadyPeriod}).Duration
}

// failover finds out which Services of a route fail over by what is observed now, and how long it is until that may change without an
// event. Those of backends in maintenance do not. Those of a backend that is being deleted, or of which it is not known yet whether
// endpoints are withheld, do as long as they are recorded.
func (m *membership) failover(recorded sets.Set[types.NamespacedName], targets []drain.Object, now time.Time) {
	m.failing = nil // of most routes there are none
	for _, object := range targets {
		of, _ := m.Of(object)
		backend, name := m.all[of], object.NamespacedName
		if backend == nil || object.Import {
			continue
		}
		target, phase := m.targets[object], phaseDraining
		if backend.Cluster.Maintenance.Services.Automatic {
			phase = m.memory.phaseOf(backend)
		}
		observed := phase == phaseEnabled && backend.DeletionTimestamp.IsZero() && !target.service.externalName
		over, due := m.memory.failover(backend, name, observed, target.ready(true) || target.ready(false), recorded.Has(name), now)
		if !observed && phase != phaseDraining {
			over = recorded.Has(name)
		}
		if over {
			if m.failing == nil {
				m.failing = sets.Set[types.NamespacedName]{}
			}
			m.failing.Insert(name)
		}
		if due > 0 && (m.due == 0 || due < m.due) {
			m.due = due
		}
	}
}

// FailsOver implements drain.Backends.
func (m *membership) FailsOver(service types.NamespacedName) bool { return m.failing.Has(service) }
