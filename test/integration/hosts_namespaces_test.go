// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestQuotaCountsKlusters checks that a ResourceQuota of the management cluster limits Klusters, also when several are created
// concurrently.
func TestQuotaCountsKlusters(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "quota")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "klusters"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/klusters.kubernikus.sap.cc": resource.MustParse("0")}},
	}
	inTheCluster(t, quota)
	c := admin(t)
	// The API server of Groundskeeper receives the quota by a watch, later than a client that reads it.
	early := klusterIn(namespace, "early", "1.36.3")
	rejectedSoon(t, early, "exceeded quota: klusters")
	change(t, quota, func(q *corev1.ResourceQuota) {
		q.Spec.Hard["count/klusters.kubernikus.sap.cc"] = resource.MustParse("2")
	})
	eventually(t, func(ctx context.Context) error { return c.Create(ctx, early.DeepCopy(), client.DryRunAll) })
	usage := func(want string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
				return err
			}
			used, counted := quota.Status.Used["count/klusters.kubernikus.sap.cc"]
			if _, limited := quota.Status.Hard["count/klusters.kubernikus.sap.cc"]; !counted || !limited || used.String() != want {
				return fmt.Errorf("the quota reports %s are used, want %s", used.String(), want)
			}
			return nil
		})
	}
	usage("0")
	errs := make(chan error)
	for i := range 5 {
		go func() { errs <- c.Create(t.Context(), klusterIn(namespace, fmt.Sprintf("k%d", i), "1.36.3")) }()
	}
	created := 0
	for range 5 {
		switch err := <-errs; {
		case err == nil:
			created++
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: klusters"):
			t.Errorf("rejected otherwise: %v", err)
		}
	}
	if created != 2 {
		t.Errorf("%d Klusters were created under a quota of 2", created)
	}
	usage("2")
}

// TestNamespaceLifecycle checks that no object can be created in a namespace that does not exist or that is terminating.
func TestNamespaceLifecycle(t *testing.T) {
	t.Parallel()
	c := admin(t)
	missing := klusterIn(name(t, "missing"), "demo", "1.36.3")
	if err := c.Create(t.Context(), missing); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "namespaces") {
		t.Errorf("in a namespace that does not exist: %v", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(t, "going"), Finalizers: []string{"example.com/hold"}}}
	inTheCluster(t, namespace)
	if err := c.Create(t.Context(), klusterIn(namespace.Name, "early", "1.36.3"), client.DryRunAll); err != nil {
		t.Errorf("in a namespace that lives: %v", err)
	}
	if err := c.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	rejectedSoon(t, klusterIn(namespace.Name, "late", "1.36.3"), "because it is being terminated")
}
