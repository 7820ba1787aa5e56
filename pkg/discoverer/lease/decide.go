// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// sight is a Lease as last seen.
type sight struct {
	// lease is nil when there is none.
	lease *coordinationv1.Lease
	// since is when its holder was first seen to report its current content, by the clock of this process: the times in a Lease are
	// of the clocks of others.
	since time.Time
}

// then returns what is known after a check of a time.
func (s sight) then(lease *coordinationv1.Lease, now time.Time) sight {
	since := now
	if s.lease != nil && lease != nil && s.lease.UID == lease.UID && equality.Semantic.DeepEqual(s.lease.Spec, lease.Spec) {
		since = s.since
	}
	return sight{lease: lease, since: since}
}

// free reports whether a discoverer may take the Lease: it is not held, that discoverer holds it, or the holder was silent for as
// long as it had announced, and for as long as Groundskeeper would, in case that the duration was shortened.
func (s sight) free(identity string, now time.Time) bool {
	if s.lease == nil {
		return true
	}
	if holder := holderOf(s.lease); holder == "" || holder == identity {
		return true
	}
	promised := time.Duration(ptr.Deref(s.lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return now.Sub(s.since) >= max(promised, duration)
}

// taken returns a Lease, nil when there is none, unchanged when a user takes or renews it. All else of it stays, the resource
// version too, so that it is only written when no other client did.
func taken(lease *coordinationv1.Lease, meta metav1.ObjectMeta, identity string, now time.Time) *coordinationv1.Lease {
	if lease == nil {
		lease = &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{LeaseTransitions: new(int32(-1))}}
	}
	next := lease.DeepCopy()
	at := metav1.NewMicroTime(now)
	if holderOf(lease) != identity {
		next.Spec.AcquireTime, next.Spec.LeaseTransitions = &at, new(ptr.Deref(lease.Spec.LeaseTransitions, 0)+1)
	}
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &identity, new(int32(duration/time.Second)), &at
	return next
}

// released returns a Lease that is not held.
func released(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	next := lease.DeepCopy()
	at := metav1.NewMicroTime(now)
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds = new(""), new(int32(1))
	next.Spec.AcquireTime, next.Spec.RenewTime = &at, &at
	return next
}

func holderOf(lease *coordinationv1.Lease) string { return ptr.Deref(lease.Spec.HolderIdentity, "") }

// Observation is what a process knows of the Lease of a backend that it does not hold itself. The zero value is nothing.
type Observation struct {
	seen sight
	// looked is when the Lease was last read, renewed is set when its holder renewed it since the read before.
	looked  time.Time
	renewed bool
	// ahead is by how much the time of a renewal was later than it was seen.
	ahead time.Duration
}

// Then returns what is known after the Lease was read at a time; nil means that there is none.
func (o Observation) Then(lease *coordinationv1.Lease, now time.Time) Observation {
	next := Observation{seen: o.seen.then(lease, now), looked: now, renewed: o.renewed, ahead: o.ahead}
	if next.seen.since.Equal(now) {
		next.renewed = !o.looked.IsZero() && now.Sub(o.looked) < duration
		if next.renewed && lease != nil && lease.Spec.RenewTime != nil {
			if ahead := lease.Spec.RenewTime.Sub(now); (ahead - o.ahead).Abs() >= duration {
				next.ahead = ahead
			}
		}
	}
	return next
}

// Ahead returns how far the clock of the holder is ahead of that of this process, for the times that it reports, as far as renewals have
// shown it. A renewal is seen up to the duration of a Lease later, so that a smaller difference, or change of it, means nothing.
func (o Observation) Ahead() time.Duration { return o.ahead }

// Alive reports whether the holder renews the Lease. It is not known after the first read, nor after one that comes much later than the
// one before: the holder may have died since the renewal.
func (o Observation) Alive(now time.Time) (alive, known bool) {
	if o.Holder(now) == "" {
		return false, !o.looked.IsZero()
	}
	return o.renewed, o.renewed
}

// Holder returns the identity of the discoverer that may still write, "" when there is none: the Lease was released, or its
// holder was silent for as long as it may be.
func (o Observation) Holder(now time.Time) string {
	if o.seen.free("", now) {
		return ""
	}
	return holderOf(o.seen.lease)
}
