// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

func get(t *testing.T, client *fake.Clientset) *coordinationv1.Lease {
	t.Helper()
	found, err := client.CoordinationV1().Leases("gimbal-discovery").Get(context.WithoutCancel(t.Context()), "us-discoverer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The Lease is held until the work has ended, and then given back.
func TestHold(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	ended := false
	err := Hold(ctx, client.CoordinationV1(), "gimbal-discovery", "us", "a", func(work context.Context) {
		if holder := get(t, client).Spec.HolderIdentity; holder == nil || *holder != "a" {
			t.Error("the work began without the Lease")
		}
		cancel()
		<-work.Done()
		if holder := get(t, client).Spec.HolderIdentity; holder == nil || *holder != "a" {
			t.Error("the Lease was given back before the work had ended")
		}
		ended = true
	})
	if err != nil || !ended {
		t.Fatal(err, ended)
	}
	if holder := get(t, client).Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the Lease was not given back: %s has it", *holder)
	}
	// The next one takes it at once.
	ctx, cancel = context.WithCancel(t.Context())
	if err := Hold(ctx, client.CoordinationV1(), "gimbal-discovery", "us", "b", func(context.Context) { cancel() }); err != nil {
		t.Error(err)
	}
}

// While another one holds the Lease nothing is done, and the Lease is left alone.
func TestHeldByAnother(t *testing.T) {
	client := fake.NewClientset(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us-discoverer"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("other"), LeaseDurationSeconds: new(int32(30)), RenewTime: new(metav1.NewMicroTime(time.Now())),
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("get", "leases", func(ktesting.Action) (bool, runtime.Object, error) {
		defer cancel()
		return false, nil, nil
	})
	var worked atomic.Bool
	err := Hold(ctx, client.CoordinationV1(), "gimbal-discovery", "us", "a", func(context.Context) { worked.Store(true) })
	if err != nil || worked.Load() {
		t.Error(err, worked.Load())
	}
	if holder := get(t, client).Spec.HolderIdentity; *holder != "other" {
		t.Errorf("%s has it", *holder)
	}
}

// A Lease that another one took is not given back.
func TestReleaseOfAnothers(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	err := Hold(ctx, client.CoordinationV1(), "gimbal-discovery", "us", "a", func(work context.Context) {
		cancel()
		<-work.Done()
		taken := get(t, client)
		taken.Spec.HolderIdentity = new("other")
		if _, err := client.CoordinationV1().Leases("gimbal-discovery").Update(context.WithoutCancel(ctx), taken, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if holder := get(t, client).Spec.HolderIdentity; *holder != "other" {
		t.Errorf("%s has it", *holder)
	}
}

// The last write of an old holder ends before a new one can begin.
func TestTimes(t *testing.T) {
	if renewDeadline+MaxTimeout > duration || errors.Is(ErrLost, context.Canceled) {
		t.Error("two holders could write")
	}
}
