// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// memory is what outlives a reconcile. A restart loses the check that runs and the connection to the cluster, both of which begin again,
// and what the current stage has deleted and reported; how far a Deorbit is, the next process reads from the status. The zero value is
// ready to be used.
type memory struct {
	mu     sync.Mutex
	states map[types.NamespacedName]*state
}

func (m *memory) get(key types.NamespacedName) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[key]
}

// set replaces what is known of a Kluster, nil drops it, and returns what was known before.
func (m *memory) set(key types.NamespacedName, s *state) (before *state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = m.states[key]
	switch {
	case s == nil:
		delete(m.states, key)
	case m.states == nil:
		m.states = map[types.NamespacedName]*state{key: s}
	default:
		m.states[key] = s
	}
	return before
}

// state is what is known of a Kluster that is being deleted. Only the worker that has it reads and writes it.
type state struct {
	uid      types.UID
	progress progress
	// condition is what is to be reported. The others are what the API server has.
	condition *metav1.Condition
	written   kubernikusv1.DeorbitStatus
	reported  *metav1.Condition
	notes     []note
	// next is when the next check is due; zero: now.
	next  time.Time
	basis basis
	// connection is the workload cluster; nil: none was needed yet. id is its identity, "" while unknown, and requested reports that it
	// was queried, regardless of the result.
	connection workload
	id         types.UID
	requested  bool
	// thawing reports that the freeze is being lifted, because the Kluster is detached.
	thawing bool
	// ends is why the Kluster is to be released; "": it is not. listed reports that its leftovers are.
	ends   ending
	listed bool
	// counted is the stage that the gauge has it in.
	counted string
}

// basis is what a check began with, besides how far the Deorbit is.
type basis struct {
	generation       int64
	selfDestruct     bool
	accepted, others string
	way
}

// way is what leads into the workload cluster and into OpenStack.
type way struct {
	secret             types.UID
	version, apiserver string
}

func basisOf(on subject) basis {
	k := on.kluster
	b := basis{generation: k.Generation, selfDestruct: k.SelfDestructs(), accepted: k.Annotations[kubernikusv1.AcceptCloudAnnotation],
		others: k.Annotations[kubernikusv1.AcceptUnknownIdentityAnnotation], way: way{apiserver: k.Status.Apiserver}}
	if on.secret != nil {
		b.secret, b.version = on.secret.UID, on.secret.ResourceVersion
	}
	return b
}

// stateFrom returns what the status of a Kluster has, which this or an earlier process wrote.
func stateFrom(k *kubernikusv1.Kluster) *state {
	s := &state{uid: k.UID, reported: meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)}
	if k.Status.Deorbit != nil {
		s.written = *k.Status.Deorbit.DeepCopy()
	}
	s.progress.DeorbitStatus = loaded(s.written)
	s.progress.routes = returningOf(&s.progress.DeorbitStatus)
	if s.reported != nil {
		s.condition, s.progress.isSelf = s.reported.DeepCopy(), s.reported.Reason == kubernikusv1.ReasonOwnCluster
		if s.reported.Status == metav1.ConditionUnknown && isHold(s.reported.Reason) {
			s.progress.held = &hold{reason: s.reported.Reason, message: s.reported.Message, since: s.reported.LastTransitionTime.Time}
		}
	}
	return s
}

// disconnect drops the workload cluster. The next check connects again.
func (s *state) disconnect() {
	if s.connection != nil {
		s.connection.Close()
	}
	s.connection, s.id, s.requested = nil, "", false
}

// resume lets the clocks continue that stood still during a pause.
func (s *state) resume(now time.Time) {
	if c := s.condition; c != nil && c.Status == metav1.ConditionUnknown && !isHold(c.Reason) {
		s.progress = s.progress.resumed(now.Sub(c.LastTransitionTime.Time))
		if s.progress.held != nil {
			s.progress.held.since = now // the time before is counted
		}
		s.condition, s.next = nil, time.Time{}
	}
}

// renew starts over with what changed: what is on its way began with what was there before.
func (r *reconciler) renew(key types.NamespacedName, s *state, now basis) {
	if s.basis == now {
		return
	}
	r.stop(key)
	if s.basis.way != now.way {
		s.disconnect()
	}
	s.basis, s.next = now, time.Time{}
}

// take returns the check that is over, nil when there is none.
func (r *reconciler) take(k *kubernikusv1.Kluster) *observed {
	for _, pool := range r.pools() {
		if result, ok := pool.Take(client.ObjectKeyFromObject(k)); ok {
			return &result
		}
	}
	return nil
}

func (r *reconciler) stop(key types.NamespacedName) {
	for _, pool := range r.pools() {
		pool.Discard(key)
	}
}

func (r *reconciler) discard(key types.NamespacedName) {
	r.stop(key)
	if s := r.memory.set(key, nil); s != nil {
		s.disconnect()
		r.meters.moved(s, "")
	}
}
