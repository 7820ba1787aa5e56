// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// BlockStorage is what is needed of Cinder.
type BlockStorage interface {
	Volumes(ctx context.Context) ([]openstack.Volume, error)
	Snapshots(ctx context.Context) ([]openstack.VolumeSnapshot, error)
	DeleteVolume(ctx context.Context, id string) error
	DeleteSnapshot(ctx context.Context, id string) error
}

// LoadBalancing is what is needed of Octavia.
type LoadBalancing interface {
	LoadBalancers(ctx context.Context) ([]openstack.LoadBalancer, error)
	Listeners(ctx context.Context) ([]openstack.Listener, error)
	Pools(ctx context.Context) ([]openstack.Pool, error)
	DeleteLoadBalancer(ctx context.Context, id string) error
	DeleteListener(ctx context.Context, id string) error
	DeletePool(ctx context.Context, id string) error
	SetTags(ctx context.Context, loadBalancerID string, tags []string) error
}

// Network is what is needed of Neutron.
type Network interface {
	ProjectFloatingIPs(ctx context.Context) ([]openstack.FloatingIP, error)
	SecurityGroups(ctx context.Context) ([]openstack.SecurityGroup, error)
	PortsOfSecurityGroup(ctx context.Context, id string) ([]openstack.Port, error)
	DeleteFloatingIP(ctx context.Context, id string) error
	DeleteSecurityGroup(ctx context.Context, id string) error
	RemovePortSecurityGroup(ctx context.Context, portID, groupID string, still func(openstack.Port) bool) error
	RemovePortTag(ctx context.Context, portID, tag string) error
	RouterIDs(ctx context.Context) ([]string, error)
	Router(ctx context.Context, id string) (openstack.Router, error)
	RouterNetworks(ctx context.Context, routerID string) ([]string, error)
	PortsOn(ctx context.Context, networks []string) ([]openstack.Port, error)
	RemoveRoutes(ctx context.Context, routerID string, doomed []openstack.Route) error
	InvalidRoutes(ctx context.Context, router openstack.Router) ([]openstack.Route, error)
}

// Compute is what is needed of Nova.
type Compute interface {
	ServerExists(ctx context.Context, id string) (bool, error)
	DetachVolume(ctx context.Context, serverID, volumeID string) error
}

// Project is a project of OpenStack, as the credentials of a Kluster open it. It is for many goroutines.
type Project struct {
	// ID is the ID of the project. Objects in other projects are not changed.
	ID            string
	Volumes       BlockStorage
	LoadBalancers LoadBalancing
	Network       Network
	Compute       Compute
	// Fence reports before each change whether this process may still make it.
	Fence func() error
}

// Of returns the project of a client. The fence is checked before each change.
func Of(client *openstack.Client, fence func() error) Project {
	return Project{
		ID: client.ProjectID(), Volumes: client.BlockStorage(), LoadBalancers: client.LoadBalancing(), Network: client.Network(), Compute: client.Compute(), Fence: fence,
	}
}
