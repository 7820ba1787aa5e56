// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package convert converts Kubernetes objects to Translations. Globals, Node, Pod, Service and Endpoints are pure functions: equal objects
// and an equal Config produce equal Translations, byte for byte, independent of the order of maps, addresses and slices. IDs, names,
// bodies and their order are those of midonet-kube-controllers, so that an existing deployment can be taken over in place.
//
// MidoNet combines these functions for the controller, and reports unsupported features, which depend on the backend. OVN converts the
// same objects to rows of the Northbound database of OVN (ovn*.go). Both share the decisions that do not depend on a backend: which
// objects and endpoints are converted, how addresses are parsed, how IDs and names are derived, and which Pods a NetworkPolicy isolates and
// selects (policy.go).
//
// Service and Endpoints create Translations of one owner, the Service, so that both results are required to determine stale Translations
// (Join). The caller writes the result. If Waiting is set, it must not delete anything immediately.
package convert

import corev1 "k8s.io/api/core/v1"

// Config is what the operator decides about translations.
type Config struct {
	// Tenant owns the backend resources. It is part of every id, so that another tenant is another network.
	Tenant string
	// TunnelZoneName is the name of the default tunnel zone. A name is unique in one MidoNet.
	TunnelZoneName string
	// ServiceTypes are the types of Services whose cluster address is served. An empty list serves none.
	ServiceTypes []corev1.ServiceType
	// PodMACAddresses lets the annotation of a Pod set the MAC address of its port on OVN.
	PodMACAddresses bool
	// NodeAddressTypes are the types of the addresses of Nodes that lead to the Nodes on OVN. An empty list is none.
	NodeAddressTypes []corev1.NodeAddressType
	// AffinityByHash has OVN choose the endpoint of a client by a hash of its address.
	AffinityByHash bool
	// TenantInNames has the names of ports on OVN begin with the tenant.
	TenantInNames bool
}
