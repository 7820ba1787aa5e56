// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

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
	// woken is when a node disappeared that no pass has begun after; zero: none did. renewed reports so of a new Secret.
	woken   time.Time
	renewed bool
	memory  Memory
	// condition is what the last reconciliation reports; nil: there was none.
	condition *metav1.Condition
	orphans   int
	// routes are the orphans that the last reconciliation found that could determine them.
	routes *kubernikusv1.RouteGCStatus
}

// passed is a reconciliation that is over.
type passed struct {
	result Result
	err    error
	memory Memory
}

// over notes the end of a reconciliation, and when the next one is.
func (s *state) over(done passed, now time.Time, wait time.Duration) {
	s.memory, s.ended, s.next = done.memory, now, now.Add(wait)
	s.failed, s.throttled = done.err != nil, openstack.RetryAfter(done.err) > 0
}

// stateOf finds what is known of a Kluster, or starts over with another one of the same name.
func (r *reconciler) stateOf(k *kubernikusv1.Kluster) *state {
	key := client.ObjectKeyFromObject(k)
	r.mu.Lock()
	s := r.states[key]
	r.mu.Unlock()
	if s != nil && s.uid == k.UID {
		return s
	}
	r.drop(key)
	s = &state{uid: k.UID, basis: basisOf(k), routes: k.Status.RouteGC}
	r.mu.Lock()
	r.states[key] = s
	r.mu.Unlock()
	return s
}

// drop discards what is known of a Kluster.
func (r *reconciler) drop(key types.NamespacedName) {
	r.passes.Discard(key)
	r.wakes.take(key)
	r.mu.Lock()
	s := r.states[key]
	delete(r.states, key)
	r.mu.Unlock()
	if s != nil {
		r.meters.orphans.Sub(float64(s.orphans))
	}
}

// Scope determines which routes of a router belong to a cluster.
type Scope struct {
	// ClusterCIDR is the range of the cluster's pods, and SecondCIDR the other one of a dual-stack cluster.
	ClusterCIDR, SecondCIDR netip.Prefix
	// Siblings are the ranges of the other clusters on the same router.
	Siblings []netip.Prefix
}

// Owned returns the routes of the cluster, wherever they lead.
func (s Scope) Owned(routes []openstack.Route) []openstack.Route {
	var found []openstack.Route
	for _, r := range routes {
		if destination, err := netip.ParsePrefix(r.Destination); err == nil && s.contains(destination) {
			found = append(found, r)
		}
	}
	return found
}

// contains reports whether the first and the last address of a destination are the cluster's, and none is a sibling's. A range of
// all addresses belongs to no cluster.
func (s Scope) contains(destination netip.Prefix) bool {
	within := func(pods netip.Prefix) bool {
		return pods.IsValid() && pods.Bits() > 0 && destination.Bits() >= pods.Bits() && pods.Contains(destination.Addr())
	}
	if !within(s.ClusterCIDR) && !within(s.SecondCIDR) {
		return false
	}
	for _, sibling := range s.Siblings {
		if sibling.Overlaps(destination) {
			return false
		}
	}
	return true
}
