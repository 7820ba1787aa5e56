// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

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
}
