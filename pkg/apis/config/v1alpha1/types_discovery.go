// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DiscoveryConfiguration configures the controllers of DiscoveryBackends.
type DiscoveryConfiguration struct {
	// Image is the image of the discoverers. Empty: no discoverer is run, the operator is off.
	Image string `json:"image"`
	// AdminNamespaces are the namespaces whose backends may publish Services in every namespace. A backend elsewhere
	// reaches its own namespace only. Empty: no backend reaches beyond its own namespace. The API server has to be told
	// the same, by --discovery-admin-namespaces.
	AdminNamespaces []string `json:"adminNamespaces"`
	// DrainConcurrency is how many routes are rewritten at the same time when a backend goes into maintenance or comes back.
	DrainConcurrency *int32 `json:"drainConcurrency"`
	// IngressRoute says whether maintenance looks for IngressRoutes of contour.heptio.com too, which Contour has not read
	// since its release 1.6.
	IngressRoute *bool `json:"ingressRoute"`
}
