// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// memory is what is known of Klusters. A restart loses it: all probes are due, and what the statuses report stays until they are over.
type memory struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

// state is what is known of a Kluster and its Secret, whose uid is "" while there is none. Only the worker that has the Kluster reads and
// writes it, except for the uids, which do not change.
type state struct {
	uid, secret types.UID
	basis       basis
	checks
}

type basis struct {
	generation                   int64
	apiserver, accepted, version string
}

type checks struct {
	cloud                 probed[cloudView]
	workload              probed[workloadView]
	permissions, services probed[metav1.Condition]
}

// probed is the result of the last probe of a system, and the time of the next one; zero: now.
type probed[T any] struct {
	latest *T
	next   time.Time
}

func (l *probed[T]) set(view T, next time.Time) { l.latest, l.next = &view, next }

func (l *probed[T]) due(now time.Time) bool { return !l.next.After(now) }

func (c *checks) miss(err error, next time.Time) {
	c.cloud.set(cloudView{err: &openstack.Error{Op: "read the credentials", Reason: kluster.ReasonSecretMissing, Err: err}}, next)
	c.workload.set(workloadView{reason: kluster.ReasonSecretMissing, message: kluster.Bounded(err.Error())}, next)
}

// wait is how long it is until the next check; what is on its way triggers its own reconciliation.
func (c *checks) wait(now time.Time) time.Duration {
	var wait time.Duration
	for _, next := range []time.Time{c.cloud.next, c.workload.next} {
		if left := next.Sub(now); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

func newMemory() *memory { return &memory{states: map[types.NamespacedName]*state{}} }

func (m *memory) get(key types.NamespacedName) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[key]
}

func (m *memory) set(key types.NamespacedName, s *state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[key] = s
}

// discard drops what is known of a Kluster. It calls a function with the uid of its Secret when no other Kluster uses that.
func (m *memory) discard(key types.NamespacedName, unused func(secret types.UID)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[key]
	delete(m.states, key)
	if s == nil || s.secret == "" {
		return
	}
	for _, other := range m.states {
		if other.secret == s.secret {
			return
		}
	}
	unused(s.secret)
}

// stateOf returns the state of a Kluster. If the Kluster or its Secret was recreated or changed, both probes are due.
func (r *reconciler) stateOf(k *kubernikusv1.Kluster, secret *corev1.Secret) *state {
	key := client.ObjectKeyFromObject(k)
	now := &state{uid: k.UID, basis: basis{k.Generation, k.Status.Apiserver, k.Annotations[kubernikusv1.AcceptCloudAnnotation], ""}}
	if secret != nil {
		now.secret, now.basis.version = secret.UID, secret.ResourceVersion
	}
	s := r.memory.get(key)
	if s == nil || s.uid != now.uid || s.secret != now.secret {
		r.drop(key)
		r.memory.set(key, now)
		return now
	}
	if s.basis != now.basis {
		// Running probes use the former spec or Secret, and earlier results are not of this generation.
		r.clouds.Discard(key)
		r.workloads.Discard(key)
		s.basis, s.checks = now.basis, checks{}
	}
	return s
}

// drop discards what is known of a Kluster, and the client of its Secret when no other Kluster uses it.
func (r *reconciler) drop(key types.NamespacedName) {
	r.clouds.Discard(key)
	r.workloads.Discard(key)
	r.memory.discard(key, r.clients.Remove)
}
