// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
)

// memory is what a Site remembers from one reconcile to the next. A restart loses all of it; since when nodes are missing is in the
// Inventory, and the record saves it.
type memory struct {
	mu     sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[Pass]
	paces  []*Pace
	// brake is why nothing is deleted, for users; empty while the brake is not engaged.
	brake string
	// released are the volumes whose claims no pod waits for any more.
	released sets.Set[types.UID]
	// confirmed is when it was last certain that no change of a node had been missed, by the clocks of the process and of the API
	// server. unsaved reports that the record was not saved, because it was not certain.
	confirmed  moment
	unsaved    bool
	unrecorded bool
	// elsewhere is what others clean up, by the last report.
	elsewhere string
}

// exchange remembers a value in a field, and returns what was there before.
func exchange[T any](m *memory, field *T, now T) (was T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, *field = *field, now
	return was
}

func (m *memory) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pace := range m.paces {
		pace.changed()
	}
	for _, queue := range m.queues {
		queue.Add(Pass{})
	}
}

func (m *memory) subscribe(queue workqueue.TypedRateLimitingInterface[Pass]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues = append(m.queues, queue)
}

// confirm notes that the API server is reached now. late reports that a change of a node may have been missed: a Lease or more has passed
// since the last time. unsaved reports that the record is to be saved, which was not possible before.
func (m *memory) confirm(now moment) (late, unsaved bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	late, unsaved = !m.confirmed.process.IsZero() && !m.confirmed.within(now), m.unsaved
	m.confirmed, m.unsaved = now, false
	return late, unsaved
}

// certain reports whether it is certain that no change of a node was missed.
func (m *memory) certain(now moment) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.confirmed.process.IsZero() { // the first reconciliation came before the first beat
		m.confirmed = now
	}
	return m.confirmed.within(now)
}

// PodsReleased notes that no pod waits for the claim of a volume any more, so that the volume may be deleted.
func (s *Site) PodsReleased(volume types.UID) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.released.Insert(volume)
}

func (s *Site) podsAreReleased(volume types.UID) bool {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return s.memory.released.Has(volume)
}

// KeepReleased discards PodsReleased of all volumes but those.
func (s *Site) KeepReleased(volumes sets.Set[types.UID]) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.released = s.memory.released.Intersection(volumes)
}
