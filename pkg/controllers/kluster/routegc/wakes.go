// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

const (
	// gather is how long a reconciliation waits for further nodes to go: those that go together are one reconciliation.
	gather = 2 * time.Second
	// rest is the least time between the end of a reconciliation and another one for nodes that went.
	rest = 10 * time.Second
)

// Wakes make passes come before their time. They change nothing of what a reconciliation checks before it removes a route. Their
// methods may be called by several goroutines, before the controller starts, too.
type Wakes struct {
	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	pending map[types.NamespacedName]wake
}

// wake is why a reconciliation should come early.
type wake struct {
	// kluster is the uid of the Kluster that lost a node.
	kluster types.UID
	// secret reports that its Secret came or changed.
	secret bool
}

// NodeDeleted reports that a node of the workload cluster of a Kluster disappeared. The uid distinguishes it from another Kluster of
// the same name.
func (w *Wakes) NodeDeleted(key types.NamespacedName, uid types.UID) {
	w.add(key, wake{kluster: uid})
}

func (w *Wakes) add(key types.NamespacedName, news wake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == nil {
		w.pending = map[types.NamespacedName]wake{}
	}
	before := w.pending[key]
	w.pending[key] = wake{cmp.Or(news.kluster, before.kluster), news.secret || before.secret}
	if w.queue != nil {
		w.queue.Add(reconcile.Request{NamespacedName: key})
	}
}

// take returns what woke a Kluster since the last call.
func (w *Wakes) take(key types.NamespacedName) wake {
	w.mu.Lock()
	defer w.mu.Unlock()
	noted := w.pending[key]
	delete(w.pending, key)
	return noted
}

// Start implements source.Source.
func (w *Wakes) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for key := range w.pending {
		queue.Add(reconcile.Request{NamespacedName: key})
	}
	return nil
}

func (w *Wakes) secretChanged(cache client.Reader) handler.MapFunc {
	users := kluster.UsersOf(cache, nil)
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		requests := users(ctx, secret)
		for _, request := range requests {
			w.add(request.NamespacedName, wake{secret: true})
		}
		return requests
	}
}

// note remembers a wake until the next reconciliation begins.
func (s *state) note(w wake, now time.Time) {
	if w.kluster == s.uid && w.kluster != "" && s.woken.IsZero() {
		s.woken = now
	}
	s.renewed = s.renewed || w.secret
}

// due is when the next reconciliation begins. A lost node brings it forward, but not right behind another one; after a
// reconciliation that failed the pause is kept, unless the Secret may have been repaired and the cloud did not request a pause.
func (s *state) due() time.Time {
	switch {
	case s.failed && s.renewed && !s.throttled:
		return time.Time{}
	case s.failed || s.woken.IsZero():
		return s.next
	}
	early := s.woken.Add(gather)
	if rested := s.ended.Add(rest); !s.ended.IsZero() && rested.After(early) {
		early = rested
	}
	if early.Before(s.next) {
		return early
	}
	return s.next
}
