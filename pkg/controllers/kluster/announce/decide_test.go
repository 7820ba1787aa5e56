// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

const discoveryNamespace = "gimbal-discovery"

// toBeAnnounced makes a Kluster one that is to be announced.
func toBeAnnounced(k *kubernikusv1.Kluster) {
	k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
	kubernikusv1.NormalizeKluster(k)
}

// backendOf returns the backend of a Kluster as announced.
func backendOf(k *kubernikusv1.Kluster) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: k.Name, UID: "backend", Generation: 1, Labels: labelsOf(k)},
		Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: secretName(k), DrainPolicy: gimbalv1.DrainStrict,
			ClusterStatus: gimbalv1.ClusterEnabled},
	}
}

// secretOf returns the Secret next to it.
func secretOf(k *kubernikusv1.Kluster) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: secretName(k), UID: "secret", Labels: labelsOf(k)},
		Data:       map[string][]byte{keyConfig: []byte("good"), "more": []byte("stays")},
	}
}

func going(object metav1.Object) { object.SetDeletionTimestamp(new(metav1.Now())) }

func relabelled(object metav1.Object, label, value string) { object.GetLabels()[label] = value }

func TestPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		name            string
		change          func(k *kubernikusv1.Kluster, there *observed)
		unusable        *metav1.Condition
		secret, backend bool
		reason, message string
	}{
		"all is there":      {},
		"nothing is there":  {change: func(_ *kubernikusv1.Kluster, there *observed) { *there = observed{} }, secret: true, backend: true},
		"no Secret":         {change: func(_ *kubernikusv1.Kluster, there *observed) { there.secret = nil }, secret: true},
		"no backend":        {change: func(_ *kubernikusv1.Kluster, there *observed) { there.backend = nil }, backend: true},
		"other credentials": {change: func(_ *kubernikusv1.Kluster, there *observed) { there.secret.Data[keyConfig] = []byte("old") }, secret: true},
		"another policy":    {change: func(k *kubernikusv1.Kluster, _ *observed) { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole }, backend: true},
		"another Secret":    {change: func(_ *kubernikusv1.Kluster, there *observed) { there.backend.Cluster.Secret = "mine" }, backend: true},
		"another type":      {change: func(_ *kubernikusv1.Kluster, there *observed) { there.backend.Cluster.Type = gimbalv1.BackendOpenStack }, backend: true},
		"the Secret by another name": {change: func(_ *kubernikusv1.Kluster, there *observed) {
			c := &there.backend.Cluster
			c.Credentials, c.Secret = c.Secret, ""
		}},
		"the user's fields": {change: func(_ *kubernikusv1.Kluster, there *observed) {
			there.backend.Cluster.ClusterStatus, there.backend.Cluster.Debug = gimbalv1.ClusterMaintenance, true
			there.backend.Labels["team"], there.secret.Labels["team"] = "a", "a"
		}},
		"own maintenance": {change: func(_ *kubernikusv1.Kluster, there *observed) {
			there.backend.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:cluster":{"f:clusterStatus":{}}}`)}}
		}, backend: true},
		"no credentials": {change: func(_ *kubernikusv1.Kluster, there *observed) { *there = observed{} }, unusable: notAnnounced(kluster.ReasonSecretInvalid, "broken"),
			reason: kluster.ReasonSecretInvalid, message: "broken"},
		"no credentials any more": {unusable: notAnnounced(kluster.ReasonSecretMissing, "gone"), reason: kluster.ReasonSecretMissing},
		"foreign backend": {change: func(_ *kubernikusv1.Kluster, there *observed) { there.backend.Labels = nil }, unusable: notAnnounced(kluster.ReasonSecretMissing, "gone"),
			reason: reasonNameTaken, message: "DiscoveryBackend gimbal-discovery/k is another client's"},
		"foreign Secret": {change: func(_ *kubernikusv1.Kluster, there *observed) {
			there.backend, there.secret.Labels = nil, map[string]string{clusterid.LabelName: "k"}
		},
			reason: reasonNameTaken, message: "Secret gimbal-discovery/k-discovery is another client's"},
		"another namespace's": {change: func(_ *kubernikusv1.Kluster, there *observed) {
			relabelled(there.backend, clusterid.LabelNamespace, "garden-bank")
		},
			reason: reasonNameTaken, message: "another client's"},
		"another name's": {change: func(_ *kubernikusv1.Kluster, there *observed) { relabelled(there.backend, clusterid.LabelName, "kay") }, reason: reasonNameTaken, message: "another client's"},
		"a predecessor's": {change: func(_ *kubernikusv1.Kluster, there *observed) { relabelled(there.secret, clusterid.LabelUID, "older") },
			reason: reasonNameTaken, message: "earlier Kluster of this name: delete it, or hand it over to this one by setting its label groundskeeper.io/kluster-uid to k-uid"},
		"the backend is being deleted": {change: func(_ *kubernikusv1.Kluster, there *observed) { going(there.backend) }, reason: reasonAnnouncing, message: "DiscoveryBackend gimbal-discovery/k is being deleted"},
		"the Secret is being deleted":  {change: func(_ *kubernikusv1.Kluster, there *observed) { there.backend = nil; going(there.secret) }, reason: reasonAnnouncing, message: "Secret gimbal-discovery/k-discovery is being deleted"},
		"a long name":                  {name: strings.Repeat("k", 41), reason: reasonNameInvalid, message: "at most 40 characters"},
		"the longest name":             {name: strings.Repeat("k", 40)},
		"a name with dots":             {name: "k.a", reason: reasonNameInvalid},
		"a digit first":                {name: "1k", reason: reasonNameInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.name == "" {
				tc.name = "k"
			}
			k := klustertest.Kluster(tc.name, toBeAnnounced)
			there := observed{backend: backendOf(k), secret: secretOf(k)}
			if tc.change != nil {
				tc.change(k, &there)
			}
			p := planFor(k, there, []byte("good"), tc.unusable)
			if p.secret != tc.secret || p.backend != tc.backend {
				t.Errorf("writes the Secret = %t and the backend = %t, want %t and %t", p.secret, p.backend, tc.secret, tc.backend)
			}
			switch {
			case tc.reason == "" && p.blocked != nil:
				t.Errorf("blocked: %+v", p.blocked)
			case tc.reason != "" && (p.blocked == nil || p.blocked.Reason != tc.reason || !strings.Contains(p.blocked.Message, tc.message) || p.blocked.Status != metav1.ConditionFalse):
				t.Errorf("got %+v, want %s %q", p.blocked, tc.reason, tc.message)
			}
		})
	}
}

// TestHoldsMaintenance checks that Maintenance is reset only by the one who set it.
func TestHoldsMaintenance(t *testing.T) {
	const fields = `{"f:cluster":{"f:clusterStatus":{}}}`
	for name, tc := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  bool
	}{
		"applied by Groundskeeper": {metav1.ManagedFieldsEntry{Manager: fieldOwner, Operation: "Apply", FieldsV1: metav1.NewFieldsV1(fields)}, true},
		"other fields":             {metav1.ManagedFieldsEntry{Manager: fieldOwner, Operation: "Apply", FieldsV1: metav1.NewFieldsV1(`{"f:cluster":{"f:type":{}}}`)}, false},
		"created by Groundskeeper": {metav1.ManagedFieldsEntry{Manager: fieldOwner, Operation: "Update", FieldsV1: metav1.NewFieldsV1(fields)}, false},
		"another client's":         {metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(fields)}, false},
		"of the status":            {metav1.ManagedFieldsEntry{Manager: fieldOwner, Operation: "Apply", Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields)}, false},
		"no fields":                {metav1.ManagedFieldsEntry{Manager: fieldOwner, Operation: "Apply"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{tc.entry}}}
			if got := holdsMaintenance(backend); got != tc.want {
				t.Errorf("holds = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestNeighbour(t *testing.T) {
	for name, want := range map[string]bool{"us": true, "us-east": true, "us-east-1": true, "usa": false, "us-eastern": false, "u": false, "us-west": false} {
		t.Run(name, func(t *testing.T) {
			all := []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
			if got := neighbour("us-east", all) != nil; got != want {
				t.Errorf("neighbour = %t, want %t", got, want)
			}
		})
	}
}

func TestIsOwn(t *testing.T) {
	k := klustertest.Kluster("k")
	if !clusterid.IsMadeFor(k, backendOf(k)) {
		t.Error("what was made for a Kluster is not its own")
	}
	k.UID = ""
	if clusterid.IsMadeFor(k, backendOf(k)) || clusterid.IsMadeFor(k, &corev1.Secret{}) {
		t.Error("a Kluster without a uid owns something")
	}
}

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
