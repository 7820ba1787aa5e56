// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import "cmp"

// octaviaTime is when everything of Octavia was made.
const octaviaTime = "2026-01-01T00:00:00"

// balancerBody returns a load balancer as Octavia writes it; whole is the response to its creation, with all that depends on it.
func (s *Server) balancerBody(b *loadBalancer, whole bool) map[string]any {
	listeners, pools := []any{}, []any{}
	for _, l := range s.content.listenersOf(b.ID) {
		if whole {
			listeners = append(listeners, s.listenerBody(l))
		} else {
			listeners = append(listeners, only(l.ID))
		}
	}
	for _, p := range s.content.poolsOf(b.ID) {
		if whole {
			pools = append(pools, s.poolBody(p, true))
		} else {
			pools = append(pools, only(p.ID))
		}
	}
	return map[string]any{
		"id": b.ID, "name": b.Name, "description": b.Description, "project_id": b.project, "tenant_id": b.project,
		"provisioning_status": b.ProvisioningStatus, "operating_status": b.OperatingStatus, "admin_state_up": !b.AdminDown,
		"vip_address": orNull(b.VIP), "vip_port_id": orNull(b.VIPPortID), "vip_subnet_id": orNull(b.VIPSubnetID),
		"vip_network_id": orNull(b.VIPNetworkID), "vip_qos_policy_id": nil, "additional_vips": []any{}, "listeners": listeners, "pools": pools,
		"provider": cmp.Or(b.Provider, "amphora"), "flavor_id": nil, "availability_zone": nil, "tags": list(b.Tags), "created_at": octaviaTime, "updated_at": nil,
	}
}

func (s *Server) listenerBody(l *listener) map[string]any {
	return map[string]any{
		"id": l.ID, "name": l.Name, "description": l.Description, "project_id": l.project, "tenant_id": l.project,
		"provisioning_status": l.ProvisioningStatus, "operating_status": l.OperatingStatus, "admin_state_up": !l.AdminDown,
		"protocol": l.Protocol, "protocol_port": l.Port, "default_pool_id": orNull(l.DefaultPoolID), "connection_limit": -1,
		"loadbalancers": []any{only(l.balancer)}, "l7policies": []any{}, "insert_headers": map[string]any{}, "allowed_cidrs": nil,
		"tags": list(l.Tags), "created_at": octaviaTime, "updated_at": nil,
	}
}

// poolBody returns a pool as Octavia writes it, with its members or with their ids.
func (s *Server) poolBody(p *pool, whole bool) map[string]any {
	listeners, members := []any{}, []any{}
	for _, l := range s.content.listenersBefore(p.ID) {
		listeners = append(listeners, only(l.ID))
	}
	for _, m := range s.content.membersOf(p.ID) {
		if whole {
			members = append(members, memberBody(m))
		} else {
			members = append(members, only(m.ID))
		}
	}
	return map[string]any{
		"id": p.ID, "name": p.Name, "description": p.Description, "project_id": p.project, "tenant_id": p.project,
		"provisioning_status": p.ProvisioningStatus, "operating_status": p.OperatingStatus, "admin_state_up": !p.AdminDown,
		"protocol": p.Protocol, "lb_algorithm": p.Algorithm, "session_persistence": nil, "healthmonitor_id": nil,
		"loadbalancers": []any{only(p.balancer)}, "listeners": listeners, "members": members,
		"tags": list(p.Tags), "created_at": octaviaTime, "updated_at": nil,
	}
}

func memberBody(m *member) map[string]any {
	return map[string]any{
		"id": m.ID, "name": m.Name, "project_id": m.project, "tenant_id": m.project, "address": m.Address, "subnet_id": orNull(m.SubnetID),
		"provisioning_status": m.ProvisioningStatus, "operating_status": m.OperatingStatus, "admin_state_up": !m.AdminDown,
		"protocol_port": m.Port, "weight": m.Weight, "backup": m.Backup, "monitor_address": nil, "monitor_port": nil,
		"tags": list(m.Tags), "created_at": octaviaTime, "updated_at": nil,
	}
}

// only names an object.
func only(id string) map[string]any { return map[string]any{"id": id} }

// list returns a list that is never null.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
