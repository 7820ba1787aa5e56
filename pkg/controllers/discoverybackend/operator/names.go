// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"slices"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Labels that Kubernetes recommends, with what Groundskeeper writes there.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelPartOf    = "app.kubernetes.io/part-of"
	labelManagedBy = "app.kubernetes.io/managed-by"

	// discovererName is the name of the program, and the value of the label app.kubernetes.io/managed-by of its Services and EndpointSlices.
	discovererName = "groundskeeper-discoverer"
	// operatorName manages the parts of a discoverer.
	operatorName = "groundskeeper-controller-manager"
)

// ClusterRoles of a discoverer, as artifacts/discovery/discoverer.yaml has them.
const (
	// roleBackend is what a discoverer is allowed to do in the namespace of its backend.
	roleBackend = "groundskeeper-discoverer-backend"
	// roleServices lets it publish Services: everywhere, or in the namespace of its backend.
	roleServices = "groundskeeper-discoverer-services"
	// roleNamespaces lets it create namespaces.
	roleNamespaces = "groundskeeper-discoverer-namespaces"
)

// partName returns the name of the Deployment, the ServiceAccount and the RoleBinding of a backend.
func partName(backend *gimbalv1.DiscoveryBackend) string { return backend.Name + "-discoverer" }

// selectorLabels find the pods of a backend. They never change: the selector of a Deployment cannot.
func selectorLabels(backend string) map[string]string {
	return map[string]string{labelName: discovererName, labelInstance: backend}
}

// partLabels returns the labels of everything that a discoverer is made of.
func partLabels(backend *gimbalv1.DiscoveryBackend) map[string]string {
	labels := selectorLabels(backend.Name)
	labels[labelComponent] = "discoverer"
	labels[labelPartOf] = "groundskeeper"
	labels[labelManagedBy] = operatorName
	labels[gimbalv1.LabelBackend] = backend.Name
	return labels
}

// reachesAll reports whether a backend may publish in every namespace.
func reachesAll(backend *gimbalv1.DiscoveryBackend, adminNamespaces []string) bool {
	return slices.Contains(adminNamespaces, backend.Namespace)
}
