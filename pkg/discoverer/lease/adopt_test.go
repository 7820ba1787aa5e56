// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

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
