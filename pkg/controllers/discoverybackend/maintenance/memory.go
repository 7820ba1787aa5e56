// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// memory is what outlives a reconcile. A restart loses all of it: backends are held until their endpoints are known not to be withheld,
// the current step of a ramp starts again, automatic maintenance stays as it is until the Leases were read twice, Services that failed over
// count as ready only since then, without their earlier failures, and a record that was removed from a route meanwhile cannot be put back.
// That one is missing is noticed, by what the status of its backend reports.
type memory struct {
	mu sync.Mutex
	// started is set when this process may write, so that what was stored before is what the process before it left.
	started  bool
	routes   map[routeKey]*routeMemory
	backends map[types.UID]*backendMemory
}

// routeMemory is what is known of a route beyond the caches: what Groundskeeper wrote, and how that went. Of a route that maintenance never
// touched there is none.
type routeMemory struct {
	uid     types.UID
	written moment
	// record is the annotation with the saved weights as it should be there, "" when there should be none, and recorded
	// are the backends that it names.
	record   string
	recorded []string
	// rewrites counts writes in a row; rewritten is when the last one was.
	rewrites  int
	rewritten time.Time
	// rejected is why the route cannot be written, "" when it can.
	rejected string
	// lost names the rules whose saved weights were lost, of the backends in lostOf, at the generation that has the even
	// distribution instead. It is reported until a user changes the route.
	lost, lostOf   []string
	lostGeneration int64
	// unrecorded is the creation of a route that had no record when this process started although it has a weight of 0, until it is
	// reconciled or changed by a user; nil for others.
	unrecorded *time.Time
}

// backendMemory is what is known of a DiscoveryBackend beyond the caches.
type backendMemory struct {
	// restored is set when its endpoints are known not to be withheld.
	restored bool
	// seen is set once it is known how far it had been drained when this process started: since drained all its routes were written,
	// nil when they were not, or that is not known.
	seen    bool
	drained *time.Time
	// step is that of its ramp, since when this process observes it: the time at which another process stored it is of another clock.
	// next is the one that is being stored, which counts since nextSince.
	step, next       step
	since, nextSince time.Time
	// written is the last write of its status, checked the last check.
	written, checked moment
	// pulse is what its Lease showed.
	pulse pulse
	// begun is set when its automatic maintenance was decided and is possibly not in the caches yet.
	begun bool
	// services are what is known of the endpoints of its Services, if those may fail over.
	services map[types.NamespacedName]failover
}

// moment is a version of an object and when Groundskeeper had to do with it.
type moment struct {
	version string
	at      time.Time
}

// isAfter reports whether a cached version is older, so that its event is still to come. After a while none is waited for: versions
// start over when a store is restored.
func (m moment) isAfter(cached string, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(cached, m.version)
	return err == nil && order < 0 && now.Sub(m.at) < quietPeriod
}

// step identifies a step of a ramp. The zero value is that of none.
type step struct{ percent, from, to int32 }

func stepOf(ramp *gimbalv1.RampStatus) step {
	if ramp == nil {
		return step{}
	}
	return step{ramp.Percent, ramp.From, ramp.To}
}

// pulse is what is known of one discoverer.
type pulse struct {
	lease.Observation
	read time.Time
}

func newMemory() *memory {
	return &memory{routes: map[routeKey]*routeMemory{}, backends: map[types.UID]*backendMemory{}}
}

// backend returns the entry of a backend, new or old. The lock is held.
func (m *memory) backend(uid types.UID) *backendMemory {
	b := m.backends[uid]
	if b == nil {
		b = &backendMemory{}
		m.backends[uid] = b
	}
	return b
}

// start notes that from now on this process may write.
func (m *memory) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = true
}

// sees notes of backends that were not seen yet how far they had been drained. It is called before anything is written for them.
func (m *memory) sees(backends map[string]*gimbalv1.DiscoveryBackend) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, backend := range backends {
		if b := m.backend(backend.UID); m.started && !b.seen {
			b.seen, b.drained = true, drainedSince(backend)
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

// discard drops what is known of backends that have been deleted. It is called with what was just read, so that none is younger.
func (m *memory) discard(backends map[string]*gimbalv1.DiscoveryBackend) {
	m.mu.Lock()
	defer m.mu.Unlock()
	exist := sets.Set[types.UID]{}
	for _, backend := range backends {
		exist.Insert(backend.UID)
	}
	for uid := range m.backends {
		if !exist.Has(uid) {
			delete(m.backends, uid)
		}
	}
}

func (m *memory) of(uid types.UID) backendMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.backend(uid)
}

func (m *memory) phaseOf(backend *gimbalv1.DiscoveryBackend) phase {
	return phaseOf(backend, m.of(backend.UID).restored)
}

// setRestored notes whether the endpoints of a backend are known not to be withheld, and reports whether that is news.
func (m *memory) setRestored(uid types.UID, restored bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backend(uid)
	news := b.restored != restored
	b.restored = restored
	return news
}

// wait is how long a check of a backend has to wait, 0 when it takes place now: for the event of Groundskeeper's own write, or a while
// after the last check. One per second suffices for any number of events of routes. A backend that changed itself need not wait.
func (m *memory) wait(cached *gimbalv1.DiscoveryBackend, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backend(cached.UID)
	if b.written.isAfter(cached.ResourceVersion, now) {
		return checkPeriod
	}
	if wait := b.checked.at.Add(statusPeriod).Sub(now); wait > 0 && b.checked.version == cached.ResourceVersion {
		return wait
	}
	b.checked = moment{cached.ResourceVersion, now}
	return 0
}

// writeWait is how long the next write of the status of a backend has to wait.
func (m *memory) writeWait(uid types.UID, now time.Time) time.Duration {
	return max(m.of(uid).written.at.Add(statusPeriod).Sub(now), 0)
}

// wroteStatus notes the version of a backend after a write of its status.
func (m *memory) wroteStatus(uid types.UID, version string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backend(uid).written = moment{version, now}
}

// since returns since when the step that a backend has lasts.
func (m *memory) since(backend *gimbalv1.DiscoveryBackend, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, current := m.backend(backend.UID), stepOf(backend.Status.Ramp)
	switch {
	case !b.since.IsZero() && b.step == current:
		return b.since
	case !b.nextSince.IsZero() && b.next == current:
		now = b.nextSince
	}
	b.step, b.since = current, now
	b.next, b.nextSince = step{}, time.Time{}
	return now
}

// plan notes the step that is to be stored, and since when it counts.
func (m *memory) plan(uid types.UID, next *gimbalv1.RampStatus, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backend(uid)
	b.next, b.nextSince = stepOf(next), since
}

func (m *memory) setPulse(uid types.UID, p pulse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backend(uid).pulse = p
}

// begun returns the other backends whose automatic maintenance was decided and is possibly not in the caches yet. The lock is held.
func (m *memory) begun(backend *gimbalv1.DiscoveryBackend, all map[string]*gimbalv1.DiscoveryBackend) sets.Set[types.UID] {
	begun := sets.Set[types.UID]{}
	for _, other := range all {
		if m.backend(other.UID).begun && other.UID != backend.UID {
			begun.Insert(other.UID)
		}
	}
	return begun
}

// decideAutomatic decides about one backend at a time, so that two decisions do not exceed the limit together.
func (m *memory) decideAutomatic(backend *gimbalv1.DiscoveryBackend, f fleet, now time.Time) (*metav1.Condition, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.begun = m.begun(backend, f.all)
	condition, after := f.automatic(backend, now)
	m.backend(backend.UID).begun = condition != nil && condition.Status == metav1.ConditionTrue
	return condition, after
}

// failover notes what is observed of the endpoints of a Service, and returns whether its requests are to go to other receivers, and how
// long it is until that may change without an event. Of a Service that is not observed nothing is kept.
func (m *memory) failover(
	backend *gimbalv1.DiscoveryBackend, name types.NamespacedName, observed, ready, recorded bool, now time.Time,
) (over bool, due time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.backend(backend.UID)
	if !observed {
		delete(b.services, name)
		return false, 0
	}
	next, due := b.services[name].next(backend.Cluster.Maintenance.Services, ready, recorded, now)
	if next.isForgotten() {
		delete(b.services, name)
		return false, 0
	}
	if b.services == nil {
		b.services = map[types.NamespacedName]failover{}
	}
	b.services[name] = next
	return next.over, due
}
