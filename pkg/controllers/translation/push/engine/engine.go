// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package engine makes a backend hold what Claims want. It knows which resources need which across all Claims, pushes each as soon
// as what it needs is there, independent ones in parallel and those under one parent one after the other, removes what no Claim
// wants any more in the reverse order, and finds and repairs what another client changed.
//
// It drives a backend.Backend and knows none of its kinds. It knows no API server either: who calls it reports which Claims there
// are, stores what it reports, and calls again when it requests to.
package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// Mode is what the engine is allowed to do.
type Mode string

// The modes.
const (
	// Repair pushes, and repairs what another client changed.
	Repair Mode = "repair"
	// Observe pushes, and reports what another client changed.
	Observe Mode = "observe"
	// Plan writes nothing and reports what it would.
	Plan Mode = "plan"
)

// ErrUnknownClaim means that a Claim that is to be pushed was not observed, or is discarded.
var ErrUnknownClaim = errors.New("unknown claim")

// Options specify how an engine works.
type Options struct {
	// Mode is Plan unless it is Repair or Observe.
	Mode Mode
	// DeleteOrphans deletes what belongs to the tenant and no Claim lists. Otherwise it is reported.
	DeleteOrphans bool
	// Concurrency is how many reads of one drift pass are under way concurrently. Less than 1 is taken for 1.
	Concurrency int
	// Clock is the real clock when it is nil.
	Clock clock.PassiveClock
	Log   logr.Logger
	// Wake is called when a Claim should be pushed again now. It must not block and may be called from any goroutine.
	Wake func(types.NamespacedName)
	// Pushed, if not nil, is called with the time that it took from the first Push that saw a Claim's content until it was in sync.
	Pushed func(took time.Duration)
}

// Engine makes a backend hold what Claims want. All Claims that there are must have been observed before the first Push.
type Engine struct {
	b backend.Backend
	o Options

	// observing keeps calls of Observe in order, whose work is partly done without mu.
	observing sync.Mutex
	// drifting keeps passes apart.
	drifting sync.Mutex
	locks    locks
	// listing is mostListed but in tests.
	listing int64

	// mu guards what follows. It is never held during a call of the backend that takes a context.
	mu sync.Mutex
	x  index
	// suspects are the orphans that the last drift pass saw.
	suspects map[backend.Key]struct{}
}

// New returns an engine that knows no Claims.
func New(b backend.Backend, o Options) *Engine {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Wake == nil {
		o.Wake = func(types.NamespacedName) {}
	}
	if o.Mode != Repair && o.Mode != Observe {
		o.Mode = Plan
	}
	o.Concurrency = max(o.Concurrency, 1)
	e := &Engine{b: b, o: o, locks: locks{held: map[string]*lock{}}, listing: mostListed}
	e.x = newIndex()
	return e
}

// Counts returns how many resources are in each state, those that are no longer wanted included. It costs next to
// nothing.
func (e *Engine) Counts() map[State]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.x.counts.byState()
}

// with runs fn on the index and then wakes whom fn concerned.
func (e *Engine) with(fn func(x *index)) {
	e.mu.Lock()
	e.x.now = e.o.Clock.Now()
	fn(&e.x)
	woken := e.x.woken
	e.x.woken = nil
	e.mu.Unlock()
	for name := range woken {
		e.o.Wake(name)
	}
}

// locks are locks by name. No goroutine takes one while it has another, so they cannot block each other.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is a lock that a goroutine has or waits for: the channel has one place, taken by who has it.
type lock struct {
	place chan struct{}
	users int
}

// do calls fn while it has the lock. It returns fn's error, or that of ctx when that ended before fn was called.
func (l *locks) do(ctx context.Context, name string, fn func() error) error {
	l.mu.Lock()
	k := l.held[name]
	if k == nil {
		k = &lock{place: make(chan struct{}, 1)}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}()

	select {
	case k.place <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.place }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn()
}

// lockOf is the lock for writes to a resource: those under one parent are serial, and so is a parent with its children.
func lockOf(ref backend.Ref) string { return cmp.Or(ref.Parent, ref.ID, ref.Kind) }
