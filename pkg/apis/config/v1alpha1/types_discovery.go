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
}
