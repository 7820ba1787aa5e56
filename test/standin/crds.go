// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CRDs are the resources whose objects SnapshotCRDs are, for a dynamic client.
var CRDs = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// SnapshotCRDs are definitions of snapshots, their contents and their classes as a cluster has them, except for the fields, which
// they admit unchanged.
func SnapshotCRDs() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, kind := range []string{"VolumeSnapshot", "VolumeSnapshotContent", "VolumeSnapshotClass"} {
		plural, scope := strings.ToLower(kind)+"s", "Cluster"
		switch kind {
		case "VolumeSnapshot":
			scope = "Namespaced"
		case "VolumeSnapshotClass":
			plural = strings.ToLower(kind) + "es"
		}
		version := map[string]any{
			"name": snapshotVersion.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}
		if kind != "VolumeSnapshotClass" {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
		all = append(all, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{
				"name": plural + "." + snapshotVersion.Group,
				// Definitions in groups of Kubernetes have to report who approved of them.
				"annotations": map[string]any{"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/814"},
			},
			"spec": map[string]any{
				"group": snapshotVersion.Group, "scope": scope, "versions": []any{version},
				"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			},
		}})
	}
	return all
}
