// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

// Cloud is an OpenStack in which the provider creates what Cluster API's provider for OpenStack would. One goroutine at a time uses it.
type Cloud interface {
	// CloudsYAML has the credentials of Clusters, for the cloud named cloud.
	CloudsYAML() string
	// CreateNetwork creates the network of a Cluster, 10.6.0.0/24, with its router.
	CreateNetwork(cluster string) (Network, error)
	// DeleteNetwork deletes it, and fails while routes, ports or load balancers use it.
	DeleteNetwork(network Network) error
	// CreateServer creates a server with an address, and DeleteServer deletes one that may not exist.
	CreateServer(network Network, address string) (id string, err error)
	DeleteServer(id string) error
	// CreateFloatingIP gives a server a floating IP, and DeleteFloatingIP deletes it and reports whether it existed.
	CreateFloatingIP(network Network, server string) (id string, err error)
	DeleteFloatingIP(id string) (existed bool, err error)
}

// Network is the network of a Cluster, by UUIDs. The external one is "" if it is unknown.
type Network struct{ ID, Subnet, Router, External string }
