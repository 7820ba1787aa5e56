// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// memory is what is known of Klusters. A restart loses it: each router is checked, and each orphan has to be seen twice again.
type memory struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

func newMemory() *memory { return &memory{states: map[types.NamespacedName]*state{}} }

func (m *memory) get(key types.NamespacedName) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[key]
}

// set replaces what is known of a Kluster, nil for nothing, and returns what was.
func (m *memory) set(key types.NamespacedName, s *state) (before *state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before = m.states[key]; s == nil {
		delete(m.states, key)
	} else {
		m.states[key] = s
	}
	return before
}

// state is what is known of a Kluster. Only the worker that has it reads and writes it.
type state struct {
	uid   types.UID
	basis basis
	// next is when the next reconciliation is due; zero: now.
	next time.Time
	// ended is when the last reconciliation was over, failed whether it came to nothing, and throttled whether the cloud requested
	// a pause.
	ended             time.Time
	failed, throttled bool
	// woken is when a node disappeared that no pass has begun after; zero: none did. renewed reports that the Secret is a new one since.
	woken   time.Time
	renewed bool
	history History
	// condition is what the last reconciliation reports; nil: there was none.
	condition *metav1.Condition
	orphans   int
	// routes are the orphans that the last reconciliation found that could determine them.
	routes *kubernikusv1.RouteGCStatus
}

// History is what earlier passes saw of a cluster. Its zero value has seen nothing.
type History struct {
	// first is when each orphan was seen for the first time, without a reconciliation since that saw it in use.
	first map[openstack.Route]time.Time
	// suspicious is since when all passes are suspicious; zero: the last one was not.
	suspicious time.Time
}

type passed struct {
	result  Result
	err     error
	history History
}

// over notes the end of a reconciliation, and when the next one is.
func (s *state) over(done passed, now time.Time, wait time.Duration) {
	s.history, s.ended, s.next = done.history, now, now.Add(wait)
	s.failed, s.throttled = done.err != nil, openstack.RetryAfter(done.err) > 0
}

// stateOf finds what is known of a Kluster, or starts over with another one of the same name.
func (r *reconciler) stateOf(k *kubernikusv1.Kluster) *state {
	key := client.ObjectKeyFromObject(k)
	if s := r.memory.get(key); s != nil && s.uid == k.UID {
		return s
	}
	r.drop(key)
	s := &state{uid: k.UID, basis: basisOf(k), routes: k.Status.RouteGC}
	r.memory.set(key, s)
	return s
}

func (r *reconciler) drop(key types.NamespacedName) {
	r.passes.Discard(key)
	r.wakes.take(key)
	if s := r.memory.set(key, nil); s != nil {
		r.meters.orphans.Sub(float64(s.orphans))
	}
}
