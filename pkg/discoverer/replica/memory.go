// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// memory is what outlives a reconcile. A restart loses all of it: everything is compared again before anything is written, copies of
// what was deleted meanwhile are deleted by a listing, and differences in readiness are left to maintenance for as long as at first.
type memory struct {
	mu sync.Mutex
	ahead
	state state
	// sure are copies that may be deleted: a watch notified that their source has been deleted, or a second listing.
	sure sets.Set[desired.Ref]
	// waiting are the services that wait for a namespace.
	waiting map[string]sets.Set[types.NamespacedName]
	// legacy are Services that only the labels of the original's released images mark as Groundskeeper's.
	legacy map[types.NamespacedName]*corev1.Service
	// pending are the services that were not checked yet in a cycle, which is the way from a listing to copies that agree with it.
	pending sets.Set[types.NamespacedName]
	// disputed are services whose copies differ from what they should be in readiness only, and since when.
	disputed map[types.NamespacedName]time.Time
}

// state is the part of the memory that is about all services.
type state struct {
	// surveyed reports that both sides were compared once.
	surveyed bool
	// working reports that writing is allowed, began since when: other discoverers wrote before.
	working bool
	began   time.Time
	// cycle is when the last cycle began, synced when one last ended.
	cycle, synced time.Time

	// withheld reports that endpoints are withheld: in maintenance they may have to be not ready, whatever the backend reports about
	// them. known reports that this is known.
	known, withheld bool
	// changed is since when that is so, as far as known: maintenance may have ended just before this process started.
	changed time.Time
	// queried is when the API server was last asked for it.
	queried time.Time
}

func newMemory() *memory {
	return &memory{
		ahead: ahead{
			written: map[types.NamespacedName]map[desired.Ref]metav1.Object{},
			removed: map[desired.Ref]types.UID{}, inFlight: map[desired.Ref]types.UID{},
		},
		sure: sets.New[desired.Ref](), waiting: map[string]sets.Set[types.NamespacedName]{},
		legacy: map[types.NamespacedName]*corev1.Service{}, disputed: map[types.NamespacedName]time.Time{},
	}
}

func (m *memory) now() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

func (m *memory) note(change func(*state)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.state)
}

// permit lets copies be deleted.
func (m *memory) permit(copies ...desired.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sure.Insert(copies...)
}

// isSure reports whether a copy may be deleted.
func (m *memory) isSure(ref desired.Ref) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sure.Has(ref)
}

// revoke takes back that copies may be deleted.
func (m *memory) revoke(copies ...desired.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sure.Delete(copies...)
}

// waitFor notes that a service waits for its namespace, or that it does not, and returns how many services waited for it before
// and how many do now.
func (m *memory) waitFor(key types.NamespacedName, waits bool) (before, after int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := m.waiting[key.Namespace]
	before = len(waiting)
	if waits && waiting == nil {
		waiting = sets.New[types.NamespacedName]()
		m.waiting[key.Namespace] = waiting
	}
	if waits {
		waiting.Insert(key)
	} else if waiting.Delete(key); len(waiting) == 0 {
		delete(m.waiting, key.Namespace)
	}
	return before, len(waiting)
}

func (m *memory) addLegacy(key types.NamespacedName, service *corev1.Service) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.legacy[key] = service
}

// dropLegacy discards a Service of the original, and reports whether it was known.
func (m *memory) dropLegacy(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.legacy[key]
	delete(m.legacy, key)
	return known
}

func (m *memory) legacyKeys() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.legacy))
}

// beginCycle notes which services are checked from now on. Permissions to delete what is not cached any more are dropped.
func (m *memory) beginCycle(now time.Time, pending sets.Set[types.NamespacedName], isCached func(desired.Ref) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.cycle, m.pending = now, pending.Clone()
	for ref := range m.sure {
		if !isCached(ref) {
			m.sure.Delete(ref)
		}
	}
}

// checked takes a service out of the cycle, and reports whether it was the last one.
func (m *memory) checked(key types.NamespacedName) (last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last = len(m.pending) == 1 && m.pending.Has(key)
	m.pending.Delete(key)
	return last
}

// endCycle returns how long the cycle took, and whether it was the first that ended.
func (m *memory) endCycle(now time.Time) (took time.Duration, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first = m.state.synced.IsZero()
	m.state.synced = now
	return now.Sub(m.state.cycle), first
}

// setWithheld notes whether endpoints are withheld, and reports whether all services have to be checked for that.
func (m *memory) setWithheld(withheld bool, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.state.known && m.state.withheld != withheld
	if changed || !m.state.known {
		m.state.changed = now
	}
	m.state.known, m.state.withheld = true, withheld
	if changed {
		clear(m.disputed)
	}
	return changed && m.state.working
}

// disputes notes that a copy differs in readiness only, and returns how long that is still left to maintenance.
func (m *memory) disputes(key types.NamespacedName, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	since, disputed := m.disputed[key]
	if !disputed {
		since = now
		m.disputed[key] = since
	}
	return settlePeriod - now.Sub(since)
}

// agrees notes that a copy does not differ in readiness only.
func (m *memory) agrees(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.disputed, key)
}
