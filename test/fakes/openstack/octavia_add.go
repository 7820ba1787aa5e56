// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import "github.com/google/uuid"

func (c *content) addListener(b *loadBalancer, given newListener) *listener {
	made := &listener{project: b.project, balancer: b.ID, Listener: Listener{ID: uuid.NewString(), Name: given.Name, Description: given.Description,
		Protocol: given.Protocol, Port: given.Port, DefaultPoolID: given.DefaultPoolID, ProvisioningStatus: pendingCreate, OperatingStatus: "OFFLINE",
		AdminDown: given.down(), Tags: given.Tags}}
	c.listeners = append(c.listeners, made)
	return made
}

func (c *content) addPool(b *loadBalancer, id string, given newPool) *pool {
	made := &pool{project: b.project, balancer: b.ID, Pool: Pool{ID: id, Name: given.Name, Description: given.Description, Protocol: given.Protocol,
		Algorithm: given.Algorithm, ProvisioningStatus: pendingCreate, OperatingStatus: "OFFLINE", AdminDown: given.down(), Tags: given.Tags}}
	c.pools = append(c.pools, made)
	for _, m := range given.Members {
		c.addMember(made, m)
	}
	return made
}

func (c *content) addMember(in *pool, given newMember) *member {
	weight := 1
	if given.Weight != nil {
		weight = *given.Weight
	}
	made := &member{project: in.project, pool: in.ID, Member: Member{ID: uuid.NewString(), Name: given.Name, Address: given.Address, Port: given.Port,
		SubnetID: given.SubnetID, Weight: weight, Backup: given.Backup, ProvisioningStatus: pendingCreate, OperatingStatus: "NO_MONITOR",
		AdminDown: given.down(), Tags: given.Tags}}
	c.members = append(c.members, made)
	return made
}
