// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clienttesting "k8s.io/client-go/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// apiService returns one that points to a Service in a namespace, with the status of its condition, "" for none.
func apiService(group, namespace, available string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "v1." + group, "uid": "uid-of-" + group, "labels": map[string]any{partOf: product}},
		"spec":     map[string]any{"group": group, "service": map[string]any{"namespace": namespace, "name": "groundskeeper-apiserver"}},
	}}
	object.SetGroupVersionKind(apiServiceKind)
	if available != "" {
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": available, "message": "no endpoints"}}}
	}
	return object
}

func webhookConfiguration() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "groundskeeper", "uid": "uid-of-webhook", "labels": map[string]any{partOf: product}},
		"webhooks": []any{map[string]any{"name": "a.groundskeeper.io", "clientConfig": map[string]any{"service": map[string]any{"namespace": SystemNamespace}}}},
	}}
	object.SetGroupVersionKind(webhookKinds[0])
	return object
}

// TestUnregister checks that only APIServices that are known to be unavailable are deleted, webhooks only with the last of them, and
// nothing that belongs to others.
func TestUnregister(t *testing.T) {
	for _, test := range []struct {
		name    string
		objects []*unstructured.Unstructured
		want    []string
	}{
		{"all are down", []*unstructured.Unstructured{apiService(gimbalv1.GroupName, SystemNamespace, "False"), apiService(midonetv1.GroupName, SystemNamespace, "False"), webhookConfiguration()},
			[]string{"groundskeeper", "v1.gimbal.heptio.com", "v1.midonet.org"}},
		{"one works", []*unstructured.Unstructured{apiService(gimbalv1.GroupName, SystemNamespace, "True"), apiService(midonetv1.GroupName, SystemNamespace, "False"), webhookConfiguration()},
			[]string{"v1.midonet.org"}},
		{"all work", []*unstructured.Unstructured{apiService(gimbalv1.GroupName, SystemNamespace, "True"), webhookConfiguration()}, nil},
		{"unknown", []*unstructured.Unstructured{apiService(gimbalv1.GroupName, SystemNamespace, "Unknown"), apiService(midonetv1.GroupName, SystemNamespace, ""), webhookConfiguration()}, nil},
		{"of another server", []*unstructured.Unstructured{apiService(gimbalv1.GroupName, "garden", "False")}, nil},
		{"of another group", []*unstructured.Unstructured{apiService("example.org", SystemNamespace, "False")}, nil},
		{"no APIService is left", []*unstructured.Unstructured{webhookConfiguration()}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			u, metadata := inCluster(t, nil)
			s := kubetest.New(t)
			for _, object := range test.objects {
				if err := s.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
			u.Client, u.Done = s, func(string) {}
			names, err := u.Blocking(t.Context())
			if err != nil || len(names) != len(test.want) {
				t.Errorf("blocking = %q, %v, want %d", names, err, len(test.want))
			}
			if err := u.Unregister(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := deletedNames(metadata); !slices.Equal(got, test.want) {
				t.Errorf("deleted = %q, want %q", got, test.want)
			}
			for _, action := range metadata.Actions() {
				if d, ok := action.(clienttesting.DeleteActionImpl); ok && (d.DeleteOptions.Preconditions == nil || d.DeleteOptions.Preconditions.UID == nil) {
					t.Errorf("%s was deleted without its uid", d.Name)
				}
			}
		})
	}
}
