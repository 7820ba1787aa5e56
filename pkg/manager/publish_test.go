// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
)

// TestLeaseHasStates checks that each renewal writes the current states, and that a released Lease has none.
func TestLeaseHasStates(t *testing.T) {
	client := fake.NewClientset().CoordinationV1()
	states := map[string]controllerstate.State{"a": {State: controllerstate.Waiting, Reason: "not allowed to b"}}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "n", Name: "l"},
		Client:     publisher{client, func() map[string]controllerstate.State { return states }},
		LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
	}
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaseDurationSeconds: 15, RenewTime: metav1.Time{Time: time.Unix(1, 0)}}
	published := func() map[string]controllerstate.State {
		t.Helper()
		lease, err := client.Leases("n").Get(t.Context(), "l", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := controllerstate.Of(lease.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := lock.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got := published(); !reflect.DeepEqual(got, states) {
		t.Errorf("states after the creation = %v, want %v", got, states)
	}
	states = map[string]controllerstate.State{"a": {State: controllerstate.Running}}
	if err := lock.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got := published(); !reflect.DeepEqual(got, states) {
		t.Errorf("states after a renewal = %v, want %v", got, states)
	}
	record.HolderIdentity = ""
	if err := lock.Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got := published(); got != nil {
		t.Errorf("states after the release = %v, want none", got)
	}
}
