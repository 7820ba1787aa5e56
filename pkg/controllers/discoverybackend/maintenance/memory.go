// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// steps remembers since when this process observes the step of each ramp: the time at which another process stored it is of another clock.
// A new process starts the current step again. The zero value is empty.
type steps struct {
	mu   sync.Mutex
	seen map[types.UID]observedStep
}

// observedStep is a step of a ramp and since when it lasts, and the one that is being stored.
type observedStep struct {
	step, next     step
	since, nextDue time.Time
}

// step identifies a step of a ramp. The zero value is that of none.
type step struct{ percent, from, to int32 }

func stepOf(ramp *gimbalv1.RampStatus) step {
	if ramp == nil {
		return step{}
	}
	return step{ramp.Percent, ramp.From, ramp.To}
}

// since returns since when the step that a backend has lasts.
func (s *steps) since(backend *gimbalv1.DiscoveryBackend, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := stepOf(backend.Status.Ramp)
	last, known := s.seen[backend.UID]
	switch {
	case known && last.step == current:
		return last.since
	case known && last.next == current:
		now = last.nextDue
	}
	s.set(backend.UID, observedStep{step: current, since: now})
	return now
}

// plan notes the step that is to be stored, and since when it counts.
func (s *steps) plan(uid types.UID, next *gimbalv1.RampStatus, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.seen[uid]
	last.next, last.nextDue = stepOf(next), since
	s.set(uid, last)
}

// set keeps a step. The lock is held.
func (s *steps) set(uid types.UID, observed observedStep) {
	if s.seen == nil {
		s.seen = map[types.UID]observedStep{}
	}
	s.seen[uid] = observed
}

// discard drops what is known of backends that do not exist any more.
func (s *steps) discard(all map[string]*gimbalv1.DiscoveryBackend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) <= len(all) {
		return
	}
	retain(s.seen, all)
}

// retain deletes what is kept of backends that do not exist any more.
func retain[T any](kept map[types.UID]T, all map[string]*gimbalv1.DiscoveryBackend) {
	exist := map[types.UID]bool{}
	for _, backend := range all {
		exist[backend.UID] = true
	}
	for uid := range kept {
		if !exist[uid] {
			delete(kept, uid)
		}
	}
}
