// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DiscoveryConfiguration configures the controllers of DiscoveryBackends.
type DiscoveryConfiguration struct {
	// Image is the image of the discoverers. Empty: no discoverer is run, the operator is off.
	Image string `json:"image"`
	// AdminNamespaces are the namespaces whose backends may publish Services in every namespace. A backend in another namespace
	// publishes into its own namespace only. Empty: all backends publish into their own namespace only. Pass the same
	// namespaces to the API server with --discovery-admin-namespaces.
	AdminNamespaces []string `json:"adminNamespaces"`
	// DrainConcurrency is how many routes are rewritten concurrently when the maintenance of a backend starts or ends.
	DrainConcurrency *int32 `json:"drainConcurrency"`
	// IngressRoute reports whether maintenance includes IngressRoutes of contour.heptio.com too, which Contour has not read
	// since its release 1.6.
	IngressRoute *bool `json:"ingressRoute"`
	// KeepRemovedReferences is how long a route keeps the record of the references that were removed from it because their backend
	// was deleted, so that kubectl groundskeeper restore-references can put them back. 0s: removed references are not recorded.
	KeepRemovedReferences *metav1.Duration `json:"keepRemovedReferences"`
	// MaxAutomaticMaintenance is how many backends may be in automatic maintenance at the same time. 0: automatic
	// maintenance is disabled, whatever cluster.maintenance.automatic of the backends is.
	MaxAutomaticMaintenance *int32 `json:"maxAutomaticMaintenance"`
	// OtherKinds are kinds of other controllers that refer to Services, for instance VirtualServices. Maintenance does not change
	// their objects: it makes the endpoints of the Services not ready, as for an Ingress, and names them in status.errors. The
	// ServiceAccount of the controller manager needs the permission to list and watch them.
	OtherKinds []OtherKind `json:"otherKinds"`
}

// OtherKind is a kind whose objects refer to Services.
type OtherKind struct {
	// Group is the API group of the kind, for instance networking.istio.io.
	Group string `json:"group"`
	// Kind is the kind, for instance VirtualService.
	Kind string `json:"kind"`
	// Resource is its resource in the plural, for instance virtualservices.
	Resource string `json:"resource"`
	// Paths are the fields with the name of a Service, for instance spec.http[].route[].destination.host. Brackets stand for all items
	// of a list. A value is the name of a Service in the namespace of the object, or a DNS name: name.namespace,
	// name.namespace.svc, or with the domain of the cluster.
	Paths []string `json:"paths"`
}
