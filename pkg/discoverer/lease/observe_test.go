// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Lease is held until it is released, or until no renewal was observed for its duration. The times in the Lease are ignored.
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
