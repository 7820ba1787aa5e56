// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud has the stages of Deorbit in OpenStack: Verify deletes the leftovers of the workload cluster, Routes the routes to its
// pods.
//
// A check has three parts. It lists all objects that can be affected, and aborts if a list is incomplete. It decides about each object
// without further requests (decide). Then it deletes, and checks the fence before each deletion.
//
// An object belongs to the cluster only if it has evidence for that: a tag, a matching name and description, or an ID that was recorded in
// the cluster. In case of doubt, the object is retained and reported.
package cloud

import "groundskeeper.io/groundskeeper/pkg/openstack"

// Project is a project of OpenStack, as the credentials of a Kluster open it. It is for many goroutines.
type Project struct {
	// ID is the ID of the project. Objects in other projects are not changed.
	ID            string
	Volumes       openstack.BlockStorage
	Shares        openstack.SharedFileSystems
	LoadBalancers openstack.LoadBalancing
	Network       openstack.Network
	Compute       openstack.Compute
	// Fence reports before each change whether this process may still make it.
	Fence func() error
}

// Of returns the project of a client. The fence is checked before each change.
func Of(client *openstack.Client, fence func() error) Project {
	return Project{
		ID: client.ProjectID(), Volumes: client.BlockStorage(), Shares: client.SharedFileSystems(), LoadBalancers: client.LoadBalancing(),
		Network: client.Network(), Compute: client.Compute(), Fence: fence,
	}
}
