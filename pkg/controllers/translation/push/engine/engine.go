// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
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
	e.x = newIndex(e.read)
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
