// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	// interval is the time between two probes, and retryPause after one that failed. Up to a tenth is added, so that probes
	// are distributed.
	interval   = 5 * time.Minute
	retryPause = time.Minute
	jitter     = 0.1
)

// pause returns the time until the next probe.
func pause(good bool) time.Duration {
	d := retryPause
	if good {
		d = interval
	}
	return d + time.Duration(rand.Float64()*jitter*float64(d))
}

// probed is the result of the last probe of a system, and the time of the next one; zero: now.
type probed[T any] struct {
	latest *T
	next   time.Time
}

func (l *probed[T]) set(view T, next time.Time) { l.latest, l.next = &view, next }

func (l *probed[T]) due(now time.Time) bool { return !l.next.After(now) }

// version is an object in one of its versions.
type version struct {
	uid     types.UID
	version string
}

// state is what is known of a Kluster. Only the worker that has it reads and writes it, except for the uid of the Secret.
type state struct {
	uid        types.UID
	generation int64
	apiserver  string
	accepted   string
	secret     version
	cloud      probed[cloudView]
	workload   probed[workloadView]
	// permissions and services are the last preflights.
	permissions, services probed[metav1.Condition]
}

// wait is how long it is until the next check; what is on its way triggers its own reconciliation.
func (s *state) wait(now time.Time) time.Duration {
	var wait time.Duration
	for _, next := range []time.Time{s.cloud.next, s.workload.next} {
		if left := next.Sub(now); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// stateOf returns the state of a Kluster. If the Kluster or its Secret was recreated or changed, both probes are due.
func (r *reconciler) stateOf(k *kubernikusv1.Kluster, secret *corev1.Secret) *state {
	key := client.ObjectKeyFromObject(k)
	var held version
	if secret != nil {
		held = version{uid: secret.UID, version: secret.ResourceVersion}
	}
	r.mu.Lock()
	s := r.states[key]
	r.mu.Unlock()
	if s != nil && (s.uid != k.UID || s.secret.uid != held.uid) {
		r.drop(key)
		s = nil
	}
	if s == nil {
		s = &state{uid: k.UID, generation: k.Generation, apiserver: k.Status.Apiserver, accepted: k.Annotations[kubernikusv1.AcceptCloudAnnotation], secret: held}
		r.mu.Lock()
		r.states[key] = s
		r.mu.Unlock()
		return s
	}
	accepted := k.Annotations[kubernikusv1.AcceptCloudAnnotation]
	if s.generation != k.Generation || s.apiserver != k.Status.Apiserver || s.accepted != accepted || s.secret.version != held.version {
		s.generation, s.apiserver, s.accepted, s.secret.version = k.Generation, k.Status.Apiserver, accepted, held.version
		// Running probes use the former spec or Secret, and earlier results are not of this generation.
		r.clouds.Discard(key)
		r.workloads.Discard(key)
		s.cloud, s.workload = probed[cloudView]{}, probed[workloadView]{}
		s.permissions, s.services = probed[metav1.Condition]{}, probed[metav1.Condition]{}
	}
	return s
}

// drop discards what is known of a Kluster, and the client of its Secret when no other Kluster uses it.
func (r *reconciler) drop(key types.NamespacedName) {
	r.clouds.Discard(key)
	r.workloads.Discard(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[key]
	delete(r.states, key)
	if s == nil || s.secret.uid == "" {
		return
	}
	for _, other := range r.states {
		if other.secret.uid == s.secret.uid {
			return
		}
	}
	r.clients.Remove(s.secret.uid)
}

// missing is what is known without a Secret.
type missing struct {
	cloud    cloudView
	workload workloadView
}

func missingSecret(err error) missing {
	return missing{
		cloud:    cloudView{err: &openstack.Error{Op: "read the credentials", Reason: reasonSecretMissing, Err: err}},
		workload: workloadView{reason: reasonSecretMissing, message: kluster.Bounded(err.Error())},
	}
}
