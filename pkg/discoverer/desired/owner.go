// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// LabelManagedBy names the writer of an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// Manager is who writes the copies: the value of LabelManagedBy, the manager of the slices, and the field manager.
	Manager = "groundskeeper-discoverer"
	// LabelImport is the label of an EndpointSlice by which those of a ServiceImport are found: its name.
	LabelImport = "multicluster.kubernetes.io/service-name"
	// LabelSourceCluster names the cluster that exported the Service.
	LabelSourceCluster = "multicluster.kubernetes.io/source-cluster"
)

// BackendOf returns the backend that a label of either prefix names, "" when there is none.
func BackendOf(labels map[string]string) string {
	if backend := labels[gimbalv1.LabelBackend]; backend != "" {
		return backend
	}
	return labels[gimbalv1.LegacyLabelBackend]
}

// HasBackend reports whether an object has a backend label of either prefix, even an empty one: it is itself a copy.
func HasBackend(labels map[string]string) bool {
	_, current := labels[gimbalv1.LabelBackend]
	_, legacy := labels[gimbalv1.LegacyLabelBackend]
	return current || legacy
}

func serviceOf(labels map[string]string) string {
	if service := labels[gimbalv1.LabelService]; service != "" {
		return service
	}
	return labels[gimbalv1.LegacyLabelService]
}

// ServiceSource returns the source that a Service is the copy of. ok is false when it is not a copy from this backend: another
// backend or a person has it, or it only has Groundskeeper's labels and not the name that is deleted with them.
func ServiceSource(backend string, service metav1.Object) (key types.NamespacedName, ok bool) {
	name := serviceOf(service.GetLabels())
	if name == "" || BackendOf(service.GetLabels()) != backend || service.GetName() != CopyName(backend, name) {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: service.GetNamespace(), Name: name}, true
}

// SliceSource returns the source whose endpoints an EndpointSlice copies. ok is false when it is not a copy from this
// backend, for instance one that Kubernetes' mirroring controller made of the Endpoints of the original.
func SliceSource(backend string, slice metav1.Object) (key types.NamespacedName, ok bool) {
	labels := slice.GetLabels()
	name := serviceOf(labels)
	if name == "" || BackendOf(labels) != backend || labels[discoveryv1.LabelManagedBy] != Manager {
		return types.NamespacedName{}, false
	}
	if !strings.HasPrefix(slice.GetName(), CopyName(backend, name)+"-") {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: slice.GetNamespace(), Name: name}, true
}

// LostLabels reports about an object with the name of a copy, which by its labels is the copy of nothing, whether it is one whose
// labels a user changed: it still reports that Groundskeeper writes it, and names no other backend.
func LostLabels(backend string, object metav1.Object) bool {
	labels := object.GetLabels()
	owner := BackendOf(labels)
	return (owner == "" || owner == backend) && (labels[LabelManagedBy] == Manager || labels[discoveryv1.LabelManagedBy] == Manager)
}
