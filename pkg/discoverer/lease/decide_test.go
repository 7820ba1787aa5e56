// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
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

func TestAdopt(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "gimbal.heptio.com/v1", Kind: "DiscoveryBackend", Name: "east", UID: "1"}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "2"}
	for name, test := range map[string]struct {
		before []metav1.OwnerReference
		after  int
		writes int
	}{
		"new":            {nil, 1, 1},
		"it has another": {[]metav1.OwnerReference{other}, 2, 1},
		"it has it":      {[]metav1.OwnerReference{owner}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: "n", Name: Name("east"), UID: "3", OwnerReferences: test.before}
			client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: meta})
			if err := Adopt(t.Context(), client.CoordinationV1().Leases("n"), "n", "east", owner); err != nil {
				t.Fatal(err)
			}
			lease, err := client.CoordinationV1().Leases("n").Get(t.Context(), meta.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(lease.OwnerReferences) != test.after {
				t.Errorf("its owners are %+v", lease.OwnerReferences)
			}
			writes := 0
			for _, action := range client.Actions() {
				if action.GetVerb() != "get" {
					writes++
				}
			}
			if writes != test.writes {
				t.Errorf("%d writes, want %d", writes, test.writes)
			}
		})
	}
	if err := Adopt(t.Context(), fake.NewClientset().CoordinationV1().Leases("n"), "n", "east", owner); !apierrors.IsNotFound(err) {
		t.Errorf("without a Lease: %v", err)
	}
}

// A discoverer is known to run only after a renewal between two reads that are less than a Lease's duration apart.
func TestAlive(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	first := taken(nil, metav1.ObjectMeta{UID: "a"}, "by-hand", now)
	second := taken(first, metav1.ObjectMeta{}, "by-hand", now.Add(time.Second))
	third := taken(first, metav1.ObjectMeta{}, "by-hand", now.Add(2*time.Second))
	type read struct {
		after time.Duration
		lease *coordinationv1.Lease
	}
	for name, tc := range map[string]struct {
		reads        []read
		alive, known bool
	}{
		"never read":                        {},
		"no Lease":                          {reads: []read{{0, nil}}, known: true},
		"released":                          {reads: []read{{0, released(first, now)}}, known: true},
		"the first read":                    {reads: []read{{0, first}}},
		"not renewed yet":                   {reads: []read{{0, first}, {time.Second, first}}},
		"renewed":                           {reads: []read{{0, first}, {time.Second, second}}, alive: true, known: true},
		"renewed a moment ago":              {reads: []read{{0, first}, {time.Second, second}, {2 * time.Second, second}}, alive: true, known: true},
		"renewed, then not any more":        {reads: []read{{0, first}, {time.Second, second}, {time.Second + duration, second}}, known: true},
		"never renewed":                     {reads: []read{{0, first}, {duration, first}}, known: true},
		"renewed, read much later":          {reads: []read{{0, first}, {time.Hour, second}}},
		"renewed, read much later, renewed": {reads: []read{{0, first}, {time.Hour, second}, {time.Hour + time.Second, third}}, alive: true, known: true},
		"created between two reads":         {reads: []read{{0, nil}, {time.Second, first}}, alive: true, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			var o Observation
			at := now
			for _, read := range tc.reads {
				at = now.Add(read.after)
				o = o.Then(read.lease, at)
			}
			if alive, known := o.Alive(at); alive != tc.alive || known != tc.known {
				t.Errorf("alive = %t, known = %t, want %t, %t", alive, known, tc.alive, tc.known)
			}
		})
	}
}

// A Lease is held until it is released, or its holder was not seen to renew it for its duration, regardless of its times.
func TestObservation(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	held := taken(nil, metav1.ObjectMeta{UID: "a"}, "by-hand", now.Add(-time.Hour))
	renewed := taken(held, metav1.ObjectMeta{}, "by-hand", now.Add(time.Minute))
	var o Observation
	if got := o.Then(nil, now).Holder(now); got != "" {
		t.Errorf("without a Lease the holder = %q", got)
	}
	o = o.Then(held, now)
	for after, want := range map[time.Duration]string{0: "by-hand", duration - 1: "by-hand", duration: ""} {
		if got := o.Then(held, now.Add(after)).Holder(now.Add(after)); got != want {
			t.Errorf("after %s the holder = %q, want %q", after, got, want)
		}
	}
	if got := o.Then(renewed, now.Add(duration)).Holder(now.Add(duration)); got != "by-hand" {
		t.Errorf("once renewed the holder = %q, want by-hand", got)
	}
	if got := o.Then(released(held, now), now).Holder(now); got != "" {
		t.Errorf("once released the holder = %q, want none", got)
	}
}

func TestAhead(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	type renewal struct {
		// ahead is the clock of the holder when it renews, late is how much later the renewal is seen.
		ahead, late time.Duration
		want        time.Duration
	}
	for name, renewals := range map[string][]renewal{
		"the same clock":       {{0, 0, 0}, {0, duration - 1, 0}, {time.Second, 0, 0}},
		"ahead":                {{time.Hour, 0, time.Hour}},
		"behind":               {{-time.Hour, 0, -time.Hour}},
		"seen late":            {{time.Hour, 10 * time.Second, time.Hour - 10*time.Second}, {time.Hour, 0, time.Hour - 10*time.Second}},
		"corrected":            {{time.Hour, 0, time.Hour}, {0, 0, 0}},
		"corrected, seen late": {{time.Hour, 0, time.Hour}, {0, 10 * time.Second, -10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			at := now
			o := Observation{}.Then(taken(nil, metav1.ObjectMeta{}, "a", at.Add(-time.Minute)), at)
			if got := o.Ahead(); got != 0 {
				t.Errorf("after the first read, ahead = %s, want 0: the renewal was not seen", got)
			}
			for i, r := range renewals {
				at = at.Add(10 * time.Second)
				o = o.Then(taken(nil, metav1.ObjectMeta{}, "a", at.Add(r.ahead-r.late)), at)
				if got := o.Ahead(); got != r.want {
					t.Errorf("after renewal %d, ahead = %s, want %s", i, got, r.want)
				}
			}
			if got := o.Then(nil, at.Add(time.Second)).Ahead(); got != o.Ahead() {
				t.Errorf("without a Lease, ahead = %s, want %s", got, o.Ahead())
			}
		})
	}
}
