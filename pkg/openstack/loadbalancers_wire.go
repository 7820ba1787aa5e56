// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/netip"
)

// object names another object.
type object struct {
	ID string `json:"id"`
}

// loadBalancer is a LoadBalancer as Octavia writes it.
type loadBalancer struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Description        string   `json:"description"`
	ProjectID          string   `json:"project_id"`
	ProvisioningStatus string   `json:"provisioning_status"`
	OperatingStatus    string   `json:"operating_status"`
	VIPAddress         string   `json:"vip_address"`
	VIPPortID          string   `json:"vip_port_id"`
	AdminUp            bool     `json:"admin_state_up"`
	Tags               []string `json:"tags"`
}

func (l loadBalancer) convert() (LoadBalancer, error) {
	vip, err := addressOf(l.VIPAddress)
	if err != nil || l.ID == "" || l.ProvisioningStatus == "" {
		return LoadBalancer{}, fmt.Errorf("load balancer %q has an address that cannot be read, or no status", l.ID)
	}
	return LoadBalancer{
		ID: l.ID, Name: l.Name, Description: l.Description, ProjectID: l.ProjectID, ProvisioningStatus: l.ProvisioningStatus,
		OperatingStatus: l.OperatingStatus, VIP: vip, VIPPortID: l.VIPPortID, AdminUp: l.AdminUp, Tags: l.Tags,
	}, nil
}

// listener is a Listener as Octavia writes it.
type listener struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	ProjectID          string   `json:"project_id"`
	Protocol           string   `json:"protocol"`
	DefaultPoolID      string   `json:"default_pool_id"`
	L7Policies         []any    `json:"l7policies"`
	ProvisioningStatus string   `json:"provisioning_status"`
	Port               int      `json:"protocol_port"`
	AdminUp            bool     `json:"admin_state_up"`
	LoadBalancers      []object `json:"loadbalancers"`
	Tags               []string `json:"tags"`
}

func (l listener) convert() (Listener, error) {
	if l.ID == "" || l.ProvisioningStatus == "" {
		return Listener{}, fmt.Errorf("listener %q has no status", l.ID)
	}
	return Listener{
		ID: l.ID, Name: l.Name, ProjectID: l.ProjectID, Protocol: l.Protocol, DefaultPoolID: l.DefaultPoolID, HasRules: len(l.L7Policies) > 0,
		ProvisioningStatus: l.ProvisioningStatus, Port: l.Port, AdminUp: l.AdminUp, LoadBalancerIDs: ids(l.LoadBalancers), Tags: l.Tags,
	}, nil
}

// pool is a Pool as Octavia writes it.
type pool struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	ProjectID          string   `json:"project_id"`
	Protocol           string   `json:"protocol"`
	ProvisioningStatus string   `json:"provisioning_status"`
	AdminUp            bool     `json:"admin_state_up"`
	LoadBalancers      []object `json:"loadbalancers"`
	Listeners          []object `json:"listeners"`
	Tags               []string `json:"tags"`
}

func (p pool) convert() (Pool, error) {
	if p.ID == "" || p.ProvisioningStatus == "" {
		return Pool{}, fmt.Errorf("pool %q has no status", p.ID)
	}
	return Pool{
		ID: p.ID, Name: p.Name, ProjectID: p.ProjectID, Protocol: p.Protocol, ProvisioningStatus: p.ProvisioningStatus,
		AdminUp: p.AdminUp, LoadBalancerIDs: ids(p.LoadBalancers), ListenerIDs: ids(p.Listeners), Tags: p.Tags,
	}, nil
}

// member is a Member as Octavia writes it.
type member struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
	Address            string `json:"address"`
	Port               int    `json:"protocol_port"`
	Weight             int    `json:"weight"`
	AdminUp            bool   `json:"admin_state_up"`
	Backup             bool   `json:"backup"`
}

func (m member) convert() (Member, error) {
	address, err := netip.ParseAddr(m.Address)
	if err != nil || m.ID == "" {
		return Member{}, fmt.Errorf("member %q has no address that can be read", m.ID)
	}
	return Member{
		ID: m.ID, Name: m.Name, ProvisioningStatus: m.ProvisioningStatus, OperatingStatus: m.OperatingStatus, Address: address.Unmap(),
		Port: m.Port, Weight: m.Weight, AdminUp: m.AdminUp, Backup: m.Backup,
	}, nil
}

// addressOf reads an address that need not be there.
func addressOf(text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap(), err
}

func ids(objects []object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.ID)
	}
	return all
}
