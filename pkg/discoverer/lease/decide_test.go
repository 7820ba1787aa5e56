// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func held(by string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "us-discoverer", UID: "1", ResourceVersion: "7"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &by, LeaseDurationSeconds: new(int32(duration / time.Second)), LeaseTransitions: new(int32(4)),
			AcquireTime: new(metav1.NewMicroTime(renewed)), RenewTime: new(metav1.NewMicroTime(renewed)),
		},
	}
}

func with(lease *coordinationv1.Lease, change func(*coordinationv1.Lease)) *coordinationv1.Lease {
	change(lease)
	return lease
}

func TestFree(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		lease *coordinationv1.Lease
		// silent is for how long nothing of it changed.
		silent time.Duration
		want   bool
	}{
		"none":                        {nil, 0, true},
		"given back":                  {held("", now), 0, true},
		"without a holder":            {with(held("", now), func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }), 0, true},
		"own":                         {held("a", now), 0, true},
		"held":                        {held("b", now), duration - time.Nanosecond, false},
		"expired":                     {held("b", now), duration, true},
		"its clock is far behind":     {held("b", now.Add(-time.Hour)), 0, false},
		"its clock is far ahead":      {held("b", now.Add(time.Hour)), duration, true},
		"promised for longer":         {with(held("b", now), func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(60)) }), duration, false},
		"shortened by another client": {with(held("b", now), func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = new(int32(1)) }), time.Minute / 3, false},
		"without a duration":          {with(held("b", now), func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil }), duration, true},
	} {
		if got := (sight{lease: test.lease, since: now.Add(-test.silent)}).free("a", now); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// Only a change by the holder counts as a sign of life.
func TestThen(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		lease     *coordinationv1.Lease
		restarted bool
	}{
		"the same":        {held("b", now), false},
		"labelled":        {with(held("b", now), func(l *coordinationv1.Lease) { l.ResourceVersion, l.Labels = "8", map[string]string{"a": "b"} }), false},
		"renewed":         {held("b", now.Add(time.Second)), true},
		"by another":      {held("c", now), true},
		"made once more":  {with(held("b", now), func(l *coordinationv1.Lease) { l.UID = "2" }), true},
		"there no longer": {nil, true},
	} {
		then := sight{lease: held("b", now), since: now}.then(test.lease, now.Add(5*time.Second))
		if then.lease != test.lease || then.since.Equal(now) == test.restarted {
			t.Errorf("%s: since %s", name, then.since)
		}
	}
}

func TestTaken(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	before := now.Add(-time.Minute)
	for name, test := range map[string]struct {
		lease       *coordinationv1.Lease
		transitions int32
		acquired    time.Time
	}{
		"none":       {nil, 0, now},
		"given back": {held("", before), 5, now},
		"another's":  {held("b", before), 5, now},
		"own":        {held("a", before), 4, before},
	} {
		got := taken(test.lease, metav1.ObjectMeta{Namespace: "ns", Name: "us-discoverer"}, "a", now)
		spec := got.Spec
		if *spec.HolderIdentity != "a" || *spec.LeaseDurationSeconds != 30 || !spec.RenewTime.Time.Equal(now) || !spec.AcquireTime.Time.Equal(test.acquired) ||
			*spec.LeaseTransitions != test.transitions {
			t.Errorf("%s: %+v", name, spec)
		}
		if got.Name != "us-discoverer" || test.lease != nil && (got.ResourceVersion != "7" || got.UID != "1") {
			t.Errorf("%s: %+v", name, got.ObjectMeta)
		}
	}
}
