// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestClientsAreKnownFromTheStart checks that an API server authenticates clients as soon as it responds. It reads their CAs from
// the management cluster, and until then would treat all clients as anonymous.
func TestClientsAreKnownFromTheStart(t *testing.T) {
	t.Parallel()
	config, flags := thirdReplica(t)
	klusters := versioned.NewForConfigOrDie(config).KubernikusV1().Klusters(metav1.NamespaceAll)
	for range 3 {
		replica := start(t, t.Context(), apiserver, flags...)
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			if _, last = klusters.List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsUnauthorized(last) || apierrors.IsForbidden(last) {
				return false, last
			}
			return last == nil, nil
		})
		if err != nil {
			t.Fatalf("an administrator is notified: %v (%v)", err, last)
		}
		if err := replica.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		replica.exitCode()
	}
}
