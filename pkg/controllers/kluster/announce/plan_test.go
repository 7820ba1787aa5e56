// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
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
		change          func(k *kubernikusv1.Kluster, there *seen)
		unusable        *metav1.Condition
		secret, backend change
		reason, message string
	}{
		"all is there":      {},
		"nothing is there":  {change: func(_ *kubernikusv1.Kluster, there *seen) { *there = seen{} }, secret: changeCreate, backend: changeCreate},
		"no Secret":         {change: func(_ *kubernikusv1.Kluster, there *seen) { there.secret = nil }, secret: changeCreate},
		"no backend":        {change: func(_ *kubernikusv1.Kluster, there *seen) { there.backend = nil }, backend: changeCreate},
		"other credentials": {change: func(_ *kubernikusv1.Kluster, there *seen) { there.secret.Data[keyConfig] = []byte("old") }, secret: changeUpdate},
		"another policy":    {change: func(k *kubernikusv1.Kluster, _ *seen) { k.Spec.Discovery.DrainPolicy = kubernikusv1.DrainKeepSole }, backend: changeUpdate},
		"another Secret":    {change: func(_ *kubernikusv1.Kluster, there *seen) { there.backend.Cluster.Secret = "mine" }, backend: changeUpdate},
		"another type":      {change: func(_ *kubernikusv1.Kluster, there *seen) { there.backend.Cluster.Type = gimbalv1.BackendOpenStack }, backend: changeUpdate},
		"the Secret by another name": {change: func(_ *kubernikusv1.Kluster, there *seen) {
			c := &there.backend.Cluster
			c.Credentials, c.Secret = c.Secret, ""
		}},
		"the user's fields": {change: func(_ *kubernikusv1.Kluster, there *seen) {
			there.backend.Cluster.ClusterStatus, there.backend.Cluster.Debug = gimbalv1.ClusterMaintenance, true
			there.backend.Labels["team"], there.secret.Labels["team"] = "a", "a"
		}},
		"own maintenance": {change: func(_ *kubernikusv1.Kluster, there *seen) {
			there.backend.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:cluster":{"f:clusterStatus":{}}}`)}}
		}, backend: changeUpdate},
		"no credentials": {change: func(_ *kubernikusv1.Kluster, there *seen) { *there = seen{} }, unusable: notAnnounced(ReasonSecretInvalid, "broken"),
			reason: ReasonSecretInvalid, message: "broken"},
		"no credentials any more": {unusable: notAnnounced(ReasonSecretMissing, "gone"), reason: ReasonSecretMissing},
		"foreign backend": {change: func(_ *kubernikusv1.Kluster, there *seen) { there.backend.Labels = nil }, unusable: notAnnounced(ReasonSecretMissing, "gone"),
			reason: ReasonNameTaken, message: "DiscoveryBackend gimbal-discovery/k is another client's"},
		"foreign Secret": {change: func(_ *kubernikusv1.Kluster, there *seen) {
			there.backend, there.secret.Labels = nil, map[string]string{LabelName: "k"}
		},
			reason: ReasonNameTaken, message: "Secret gimbal-discovery/k-discovery is another client's"},
		"another namespace's": {change: func(_ *kubernikusv1.Kluster, there *seen) { relabelled(there.backend, LabelNamespace, "garden-bank") },
			reason: ReasonNameTaken, message: "another client's"},
		"another name's": {change: func(_ *kubernikusv1.Kluster, there *seen) { relabelled(there.backend, LabelName, "kay") }, reason: ReasonNameTaken, message: "another client's"},
		"a predecessor's": {change: func(_ *kubernikusv1.Kluster, there *seen) { relabelled(there.secret, LabelUID, "older") },
			reason: ReasonNameTaken, message: "earlier Kluster of this name: delete it, or hand it over to this one by setting its label groundskeeper.io/kluster-uid to k-uid"},
		"the backend is being deleted": {change: func(_ *kubernikusv1.Kluster, there *seen) { going(there.backend) }, reason: ReasonAnnouncing, message: "DiscoveryBackend gimbal-discovery/k is being deleted"},
		"the Secret is being deleted":  {change: func(_ *kubernikusv1.Kluster, there *seen) { there.backend = nil; going(there.secret) }, reason: ReasonAnnouncing, message: "Secret gimbal-discovery/k-discovery is being deleted"},
		"a long name":                  {name: strings.Repeat("k", 41), reason: ReasonNameInvalid, message: "at most 40 characters"},
		"the longest name":             {name: strings.Repeat("k", 40)},
		"a name with dots":             {name: "k.a", reason: ReasonNameInvalid},
		"a digit first":                {name: "1k", reason: ReasonNameInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.name == "" {
				tc.name = "k"
			}
			k := klustertest.Kluster(tc.name, toBeAnnounced)
			there := seen{backend: backendOf(k), secret: secretOf(k)}
			if tc.change != nil {
				tc.change(k, &there)
			}
			p := planFor(k, there, []byte("good"), tc.unusable)
			if p.secret != tc.secret || p.backend != tc.backend {
				t.Errorf("planned %d for the Secret and %d for the backend, want %d and %d", p.secret, p.backend, tc.secret, tc.backend)
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
		backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{tc.entry}}}
		if got := holdsMaintenance(backend); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestNeighbour(t *testing.T) {
	for name, want := range map[string]bool{"us": true, "us-east": true, "us-east-1": true, "usa": false, "us-eastern": false, "u": false, "us-west": false} {
		all := []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		if got := neighbour("us-east", all) != nil; got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestIsOwn(t *testing.T) {
	k := klustertest.Kluster("k")
	if !isOwn(k, backendOf(k)) {
		t.Error("what was made for a Kluster is not its own")
	}
	k.UID = ""
	if isOwn(k, backendOf(k)) || isOwn(k, &corev1.Secret{}) {
		t.Error("a Kluster without a uid owns something")
	}
}
