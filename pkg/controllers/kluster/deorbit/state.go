// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// state is what is known of a Kluster that is being deleted. Only the worker that has it reads and writes it.
type state struct {
	uid      types.UID
	progress progress
	// condition is what is to be reported. The others are what the API server has.
	condition *metav1.Condition
	written   kubernikusv1.DeorbitStatus
	reported  *metav1.Condition
	// notes are what to report when it is written.
	notes []note
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
	generation   int64
	selfDestruct bool
	accepted     string
	others       string
	way
}

// way is what leads into the workload cluster and into OpenStack.
type way struct {
	secret    types.UID
	version   string
	apiserver string
}

func basisOf(k *kubernikusv1.Kluster, secret *corev1.Secret) basis {
	b := basis{generation: k.Generation, selfDestruct: k.SelfDestructs(), accepted: k.Annotations[kubernikusv1.AcceptCloudAnnotation],
		others: k.Annotations[kubernikusv1.AcceptUnknownIdentityAnnotation], way: way{apiserver: k.Status.Apiserver}}
	if secret != nil {
		b.secret, b.version = secret.UID, secret.ResourceVersion
	}
	return b
}

// stateOf finds what is known of a Kluster, or reads it from the API server. It is nil when the cache is behind.
func (r *reconciler) stateOf(ctx context.Context, k *kubernikusv1.Kluster) (*state, error) {
	key := client.ObjectKeyFromObject(k)
	r.mu.Lock()
	s := r.states[key]
	r.mu.Unlock()
	if s != nil && s.uid == k.UID {
		return s, nil
	}
	r.discard(key)
	current := &kubernikusv1.Kluster{}
	if err := r.live.Get(ctx, key, current); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("get kluster %s: %w", key, err)
	}
	if current.UID != k.UID || current.DeletionTimestamp.IsZero() || !current.HasDeorbiter() {
		return nil, nil
	}
	s = &state{uid: k.UID, reported: meta.FindStatusCondition(current.Status.Conditions, kubernikusv1.ConditionDeorbited)}
	if current.Status.Deorbit != nil {
		s.written = *current.Status.Deorbit.DeepCopy()
	}
	s.progress = progress{DeorbitStatus: loaded(current.Status.Deorbit)}
	s.progress.routes = returningOf(&s.progress.DeorbitStatus)
	if s.reported != nil {
		s.condition, s.progress.own = s.reported.DeepCopy(), s.reported.Reason == reasonOwnCluster
		if s.reported.Status == metav1.ConditionUnknown && isHold(s.reported.Reason) {
			s.progress.held = &hold{reason: s.reported.Reason, message: s.reported.Message, since: s.reported.LastTransitionTime.Time}
		}
	}
	r.mu.Lock()
	r.states[key] = s
	r.mu.Unlock()
	return s, nil
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

// stop ends the check of a Kluster.
func (r *reconciler) stop(key types.NamespacedName) {
	r.clusters.Discard(key)
	r.clouds.Discard(key)
}

// It drops what is known of a Kluster.
func (r *reconciler) discard(key types.NamespacedName) {
	r.stop(key)
	r.mu.Lock()
	s := r.states[key]
	delete(r.states, key)
	r.mu.Unlock()
	if s != nil {
		s.disconnect()
		r.meters.moved(s, "")
	}
}
