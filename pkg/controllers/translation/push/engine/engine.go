// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package engine reconciles a backend with Claims. It tracks dependencies across all Claims, pushes each resource once its
// dependencies exist, pushes independent resources in parallel and those under one parent serially, deletes resources that no Claim
// wants any more in the reverse order, and finds and repairs changes by other clients.
//
// It drives a Backend and is independent of its kinds. It is independent of the API server, too: the caller passes the
// Claims, stores what the engine reports, and pushes a Claim again when the engine requests it.
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

// Backend is the part of a backend network that a push engine manages. Methods are called from many goroutines. Those with a
// context return a *backend.Error. A driver checks the fence before each write, and the engine does not retry within one call.
type Backend interface {
	// Resolve parses an item, without I/O. The error names the field and the mistake for users; errors.Is(err, backend.ErrUnknownKind)
	// means that the backend has no such kind.
	Resolve(item backend.Item) (backend.Resource, error)
	// Locate returns the location of a resource from its kind, parent and id, as stored in a status.
	Locate(kind, parent, id string) (backend.Ref, error)
	// Create creates a resource. Position is its position among its ordered siblings, 1 is the head; 0 if it is not ordered. A
	// Conflict means that the key or a slot is occupied, or that a race was lost: only Get determines which.
	Create(ctx context.Context, r backend.Resource, position int) error
	// Update replaces the body of a resource that is Updatable.
	Update(ctx context.Context, r backend.Resource) error
	// Delete deletes a resource; it succeeds if the resource does not exist. The backend may delete child resources, too.
	Delete(ctx context.Context, ref backend.Ref) error
	// Get reads a resource; it returns false if the resource does not exist, and backend.ErrInvalid if the driver cannot parse it.
	Get(ctx context.Context, r backend.Resource) (backend.Observed, bool, error)
	// Collection returns the list that contains the resource, and false if no list does and it must be read by Get.
	Collection(r backend.Resource) (backend.Collection, bool)
	// List returns a complete collection, ordered resources in their order, or an error. It returns NotFound if the parent does not
	// exist. Elements that the driver cannot parse are returned as Invalid.
	List(ctx context.Context, c backend.Collection) ([]backend.Observed, error)
	// Roots returns the collections of resources without a parent that belong to the tenant.
	Roots() []backend.Collection
	// Children returns the collections under a resource that a pusher may have filled.
	Children(ref backend.Ref) []backend.Collection
	// Differences returns the names of the fields that the body of a desired resource sets and that differ in the backend. Fields
	// that the body does not set and the order among siblings are not compared.
	Differences(want backend.Resource, have backend.Observed) []string
	// Copy returns the resource with another id, always the same one, for a replacement without interruption. It is called for
	// kinds with Doubles only; the body may be {} if only the location is needed.
	Copy(r backend.Resource) backend.Resource
}

// Comparer is a Backend whose lists of one drift check share what they read.
type Comparer interface {
	// Comparison returns the List of one drift check. It may be called concurrently.
	Comparison() func(ctx context.Context, c backend.Collection) ([]backend.Observed, error)
}

// Mode is what the engine is allowed to do.
type Mode string

// The modes.
const (
	// Repair pushes, and repairs changes by other clients.
	Repair Mode = "repair"
	// Observe pushes, and reports changes by other clients.
	Observe Mode = "observe"
	// Plan writes nothing and reports what a push would write.
	Plan Mode = "plan"
)

// ErrUnknownClaim means that a Claim that is to be pushed was not observed, or was discarded.
var ErrUnknownClaim = errors.New("unknown claim")

// Options specify how an engine works.
type Options struct {
	// Mode is Plan unless it is Repair or Observe.
	Mode Mode
	// DeleteOrphans deletes resources that belong to the tenant and that no Claim lists. Otherwise they are only reported.
	DeleteOrphans bool
	// Concurrency is the number of concurrent reads of a drift check. Values below 1 mean 1.
	Concurrency int
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
	Log   logr.Logger
	// Wake is called when a Claim should be pushed now. It must not block and may be called from any goroutine.
	Wake func(types.NamespacedName)
	// Pushed, if not nil, is called with the time from the first Push of a Claim's content until it was in sync.
	Pushed func(took time.Duration)
}

// Engine reconciles a backend with Claims. All existing Claims must have been observed before the first Push.
type Engine struct {
	b Backend
	o Options

	// observing serializes calls of Observe, which do part of their work without mu.
	observing sync.Mutex
	// drifting serializes drift checks.
	drifting sync.Mutex
	locks    locks
	// listing is mostListed, except in tests.
	listing int64

	// mu guards the fields below. It is never held during a call of the backend that takes a context.
	mu sync.Mutex
	x  index
	// suspects are the orphans that the last drift check found.
	suspects map[backend.Key]struct{}
}

// New returns an engine without Claims.
func New(b Backend, o Options) *Engine {
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
	return &Engine{b: b, o: o, locks: locks{held: map[string]*lock{}}, listing: mostListed, x: index{
		claims: map[types.NamespacedName]*claim{}, nodes: map[backend.Key]*node{}, slots: occupants{}, doubling: map[string]struct{}{},
	}}
}

// Counts returns the number of resources in each state, including those that are no longer desired. It reads counters and does not
// iterate over resources.
func (e *Engine) Counts() map[State]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.x.counts.byState()
}

// with runs fn on the index, then wakes the Claims that fn marked.
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

// locks are locks by name. A goroutine holds at most one of them, so they cannot deadlock.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is a lock that goroutines hold or wait for. The capacity of the channel is one; its element represents the holder.
type lock struct {
	place chan struct{}
	users int
}

// do calls fn while it holds the lock. It returns the error of fn, or that of ctx if it ended before fn was called.
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

// lockOf returns the name of the lock for writes to a resource: writes under one parent are serial, and so are those to a parent
// and its children.
func lockOf(ref backend.Ref) string { return cmp.Or(ref.Parent, ref.ID, ref.Kind) }
