// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// quiet is how long nothing must change before a reconciliation begins.
const quiet = 250 * time.Millisecond

// Pace reports when the next reconciliation of a controller is due. Changes come in crowds: nodes that are lost together, claims
// that go one after the other. A reconciliation waits for a moment of quiet, but not indefinitely, so that one check of the nodes
// settles the crowd, and what is deleted next does not block what is being deleted.
type Pace struct {
	clock    clock.PassiveClock
	patience time.Duration

	mu sync.Mutex
	// first and last are when something changed since the last reconciliation began; zero when nothing did.
	first, last time.Time
	// ended is when the last reconciliation ended.
	ended time.Time
}

// NewPace returns the pace of a controller of the Site that waits for quiet no longer than its patience.
func (s *Site) NewPace(patience time.Duration) *Pace {
	p := &Pace{clock: s.Clock, patience: patience}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paces = append(s.paces, p)
	return p
}

// changed reports that there is something new to check.
func (p *Pace) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.clock.Now()
	if p.first.IsZero() {
		p.first = p.last
	}
}

// Begin returns how long to wait yet; 0 begins a reconciliation.
func (p *Pace) Begin() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	due := p.ended.Add(PassInterval)
	if !p.first.IsZero() {
		due = later(due, earlier(p.last.Add(quiet), p.first.Add(p.patience)))
	}
	if rest := due.Sub(now); rest > 0 {
		return rest
	}
	p.first = time.Time{}
	return 0
}

// End reports that the reconciliation is over.
func (p *Pace) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = p.clock.Now()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	// Failures are retried with exponential backoff.
	minRetry = PassInterval
	maxRetry = 5 * time.Minute
)

// Backoffs are the objects for which something failed, each with a dedicated pause. It is for one goroutine.
type Backoffs map[types.UID]backoff

type backoff struct {
	failures int
	until    time.Time
}

// Failed begins the next pause of an object.
func (b Backoffs) Failed(uid types.UID, now time.Time) {
	failures := b[uid].failures
	b[uid] = backoff{failures: failures + 1, until: now.Add(min(minRetry<<min(failures, 16), maxRetry))}
}

// Failures returns how often in a row something failed for an object.
func (b Backoffs) Failures(uid types.UID) int { return b[uid].failures }

// Until returns when the pause of an object is over.
func (b Backoffs) Until(uid types.UID) time.Time { return b[uid].until }

// Keep discards all objects but those.
func (b Backoffs) Keep(uids map[types.UID]bool) {
	for uid := range b {
		if !uids[uid] {
			delete(b, uid)
		}
	}
}
