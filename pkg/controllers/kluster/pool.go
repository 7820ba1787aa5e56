// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// perCloud is how many run at a time at one cloud, and allClouds at all clouds, besides one at each: a cloud that does not respond takes no
// turn from another one.
const (
	perCloud  = 8
	allClouds = 32
)

// CloudPool returns a pool for what has to wait for clouds.
func CloudPool[T any](timeout time.Duration) *Pool[T] {
	return &Pool[T]{Limit: perCloud, Total: allClouds, Timeout: timeout}
}

// ClusterPool returns a pool for what has to wait for workload clusters, each of which is a dedicated place.
func ClusterPool[T any](timeout time.Duration) *Pool[T] {
	return &Pool[T]{Limit: 1, Timeout: timeout}
}

// Pool runs what has to wait for other systems, a cloud or a workload cluster, beside the workers of a controller: a worker begins it and
// continues, and the object is queued again when it is done. A few run at a time for each place, so that one that does not respond blocks
// no work elsewhere, and at most one for each object. It is a source of its controller: Start has to come before Begin.
type Pool[T any] struct {
	// Limit is how many run at a time for each place.
	Limit int
	// Total is how many run at a time altogether, besides the first one at each place; 0 is without a limit.
	Total int
	// Timeout ends one that runs too long.
	Timeout time.Duration
	// Clock is that of Quiet; nil is the real one.
	Clock clock.PassiveClock

	mu     sync.Mutex
	ctx    context.Context
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	tasks  map[types.NamespacedName]*task[T]
	places map[string]*place
	// running is how many run at all places.
	running int
}

// task is the work for one object.
type task[T any] struct {
	ctx    context.Context
	cancel context.CancelFunc
	where  string
	run    func()
	done   bool
	result T
}

// place has what runs and what waits for its turn.
type place struct {
	running int
	waiting []func()
	// progressed is when the first work began, or one ended last.
	progressed time.Time
}

// Start implements source.Source: objects whose work is done go into the queue. The context ends all work.
func (p *Pool[T]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.queue = ctx, queue
	p.tasks, p.places, p.running = map[types.NamespacedName]*task[T]{}, map[string]*place{}, 0
	return nil
}

// Begin starts work for an object, as soon as the place has room. There must be none for it.
func (p *Pool[T]) Begin(object types.NamespacedName, where string, work func(context.Context) T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &task[T]{where: where}
	t.ctx, t.cancel = context.WithCancel(p.ctx)
	t.run = func() {
		defer t.cancel()
		result := p.limited(t.ctx, work)
		p.finish(object, where, t, result)
	}
	p.tasks[object] = t
	at := p.places[where]
	if at == nil {
		at = &place{progressed: p.now()}
		p.places[where] = at
	}
	at.waiting = append(at.waiting, t.run)
	p.dispatch()
}

// dispatch starts what waits and has its turn: first at the place where the fewest run.
func (p *Pool[T]) dispatch() {
	for {
		var at *place
		for _, other := range p.places {
			hasTurn := other.running == 0 || other.running < p.Limit && (p.Total == 0 || p.running < p.Total)
			if len(other.waiting) > 0 && hasTurn && (at == nil || other.running < at.running) {
				at = other
			}
		}
		if at == nil {
			return
		}
		next := at.waiting[0]
		at.waiting = at.waiting[1:]
		at.running++
		p.running++
		go next()
	}
}

// limited runs the work, unless the object was discarded before its turn came.
func (p *Pool[T]) limited(ctx context.Context, work func(context.Context) T) (result T) {
	if ctx.Err() != nil {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	return work(ctx)
}

// finish keeps the result, queues the object, and gives the turn to the next one.
func (p *Pool[T]) finish(object types.NamespacedName, where string, t *task[T], result T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.result, t.done = result, true
	if p.tasks[object] == t {
		p.queue.Add(reconcile.Request{NamespacedName: object})
	}
	at := p.places[where]
	at.progressed = p.now()
	at.running--
	p.running--
	if p.dispatch(); at.running == 0 {
		delete(p.places, where)
	}
}

// Busy reports whether there is work for an object whose result was not taken: it may be done since Take, and then the object is queued.
func (p *Pool[T]) Busy(object types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tasks[object] != nil
}

// Quiet returns since when no work has ended at the place where the work for an object runs or waits; zero when that is done, or there is
// none.
func (p *Pool[T]) Quiet(object types.NamespacedName) (since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tasks[object]; t != nil && !t.done {
		since = p.places[t.where].progressed
	}
	return since
}

func (p *Pool[T]) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock.Now()
}

// Running reports whether the work for an object is not done yet: then the object will be queued. Tests wait for it.
func (p *Pool[T]) Running(object types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[object]
	return t != nil && !t.done
}

// Take returns the result of work that is done, once.
func (p *Pool[T]) Take(object types.NamespacedName) (result T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[object]
	if t == nil || !t.done {
		return result, false
	}
	delete(p.tasks, object)
	return t.result, true
}

// Discard ends the work for an object, whose result is no longer wanted.
func (p *Pool[T]) Discard(object types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tasks[object]; t != nil {
		t.cancel()
		delete(p.tasks, object)
	}
}
