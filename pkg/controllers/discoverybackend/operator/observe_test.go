// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestReleaseWaitsForDiscoverersStartedManually checks that the copies are retained while a manually started discoverer holds the
// Lease of the backend, because it would recreate them. One that crashed is waited for until its Lease expires.
func TestReleaseWaitsForDiscoverersStartedManually(t *testing.T) {
	for name, end := range map[string]func(*world, *coordinationv1.Lease){
		"it releases the Lease": func(w *world, lease *coordinationv1.Lease) {
			lease.Spec.HolderIdentity = new("")
			if err := w.store.Update(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		},
		"it is silent":         func(w *world, _ *coordinationv1.Lease) { w.clock.SetTime(w.clock.Now().Add(30 * time.Second)) },
		"its Lease is deleted": func(w *world, lease *coordinationv1.Lease) { w.store.Remove(lease) },
	} {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "east-discoverer", UID: types.UID("lease")},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("laptop"), LeaseDurationSeconds: new(int32(30))},
			}
			service := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
			w, backend := deleted(t, adminNamespace, service, lease)
			w.mustReconcile(backend) // stops the discoverer
			for range 2 {
				w.mustReconcile(backend)
				w.store.Find(backend)
				available := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAvailable)
				if available == nil || !strings.Contains(available.Message, `discoverer "laptop" holds Lease gimbal-discovery/east-discoverer`) {
					t.Errorf("condition = %+v, want the holder of the Lease", available)
				}
			}
			if !w.store.Find(service) {
				t.Fatal("a copy was deleted while a discoverer works")
			}
			end(w, lease)
			w.mustReconcile(backend)
			if w.store.Find(service) {
				t.Error("the copy stays")
			}
		})
	}
}

// TestReleaseWithoutTheLease checks that whether a discoverer runs is unknown while the Lease cannot be read.
func TestReleaseWithoutTheLease(t *testing.T) {
	for name, fault := range map[string]error{
		"forbidden":   apierrors.NewForbidden(coordinationv1.Resource("leases"), "east-discoverer", errors.New("no")),
		"no response": errors.New("no response"),
	} {
		t.Run(name, func(t *testing.T) {
			service := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
			w, backend := deleted(t, adminNamespace, service)
			w.mustReconcile(backend) // stops the discoverer
			w.fault = func(request string) error {
				if request == "get Lease east-discoverer" {
					return fault
				}
				return nil
			}
			_, _, err := w.reconcile(backend)
			if (err == nil) != apierrors.IsForbidden(fault) {
				t.Errorf("error = %v", err)
			}
			if !w.store.Find(service) {
				t.Error("a copy was deleted")
			}
		})
	}
}
