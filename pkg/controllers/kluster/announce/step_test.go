// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// drained is what maintenance reports about a backend.
func drained(backend *gimbalv1.DiscoveryBackend, status metav1.ConditionStatus, reason, message string) {
	backend.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: status, Reason: reason, Message: message, ObservedGeneration: backend.Generation}}
}

func TestNextStep(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*kubernikusv1.Kluster, *gimbalv1.DiscoveryBackend)
		want   step
		reason string
	}{
		"it takes requests": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			b.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
			drained(b, metav1.ConditionTrue, "Drained", "of an earlier maintenance")
		}, stepMaintain, "moved away"},
		"nothing is reported": {nil, stepWait, "not Drained yet"},
		"it is being drained": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionFalse, "Draining", "1 of 2 routes rewritten")
		}, stepWait, "not Drained yet (Draining: 1 of 2 routes rewritten)"},
		"a route is rejected": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionFalse, "Refused", "HTTPProxy shop/web")
		}, stepWait, "(Refused: HTTPProxy shop/web)"},
		"it is unknown": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionUnknown, "RoutesUnknown", "503")
		}, stepWait, "RoutesUnknown"},
		"it is drained": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionTrue, "Drained", "")
		}, stepDelete, "drained"},
		"that was before the last change": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionTrue, "Drained", "")
			b.Generation++
		}, stepWait, "not Drained yet"},
		"another policy meanwhile": {func(k *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionTrue, "Drained", "")
			k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole
		}, stepMaintain, "moved away"},
		"the spec has no policy any more": {func(k *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionTrue, "Drained", "")
			k.Spec.Discovery = nil
		}, stepDelete, "drained"},
		"its deletion is not confirmed": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			drained(b, metav1.ConditionTrue, "Drained", "")
			b.Annotations = nil
		}, stepMaintain, "moved away"},
		"it is being deleted": {func(_ *kubernikusv1.Kluster, b *gimbalv1.DiscoveryBackend) {
			b.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
			b.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionAvailable, Reason: "Terminating", Message: "the discoverer stops"}}
			going(b)
		}, stepWait, "it is being deleted (Terminating: the discoverer stops)"},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", toBeAnnounced)
			backend := backendOf(k)
			backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
			backend.Annotations = map[string]string{gardenerv1beta1.AnnotationConfirmDeletion: "true"}
			if tc.change != nil {
				tc.change(k, backend)
			}
			if got, reason := nextStep(k, backend); got != tc.want || !strings.Contains(reason, tc.reason) {
				t.Errorf("got %d, %q, want %d, %q", got, reason, tc.want, tc.reason)
			}
		})
	}
}

// TestConfirmRetainsMaintenanceOfUsers checks that the maintenance that a user started remains the user's when the deletion is
// confirmed, so that a renewed announcement does not end it.
func TestConfirmRetainsMaintenanceOfUsers(t *testing.T) {
	k := klustertest.Kluster("k", toBeAnnounced)
	backend := backendOf(k)
	for _, status := range []gimbalv1.ClusterStatus{gimbalv1.ClusterEnabled, gimbalv1.ClusterMaintenance} {
		backend.Cluster.ClusterStatus = status
		applied := maintained(k, backend)
		if got := applied.Cluster.ClusterStatus != nil; got != (status == gimbalv1.ClusterEnabled) {
			t.Errorf("%s: applies clusterStatus = %t", status, got)
		}
		if got := applied.Annotations[gardenerv1beta1.AnnotationConfirmDeletion]; got != "true" {
			t.Errorf("%s: confirmation = %q, want true", status, got)
		}
	}
}
