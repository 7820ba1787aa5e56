// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/netip"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
)

// LoadBalancer is a load balancer of Octavia.
type LoadBalancer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	ProjectID   string `json:"project_id"`
	// ProvisioningStatus is ACTIVE, ERROR or one that begins with PENDING_, in which it cannot be changed; OperatingStatus is the
	// result of its health checks, as ONLINE, DEGRADED, OFFLINE or NO_MONITOR.
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
	// VIP is the virtual IP address, the zero Addr if there is none yet. VIPPortID is its port in Neutron.
	VIP       netip.Addr `json:"-"`
	VIPPortID string     `json:"vip_port_id"`
	AdminUp   bool       `json:"admin_state_up"`
	Tags      []string   `json:"tags"`
}

// Listener is a port that load balancers listen on.
type Listener struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	ProjectID string `json:"project_id"`
	// Protocol is Octavia's word, as TCP, UDP, SCTP, HTTP or TERMINATED_HTTPS.
	Protocol string `json:"protocol"`
	// DefaultPoolID is the pool that gets what no rule of the listener sends elsewhere; "": none does.
	DefaultPoolID string `json:"default_pool_id"`
	// HasRules is set when the listener has L7 policies, which may send requests to other pools.
	HasRules           bool     `json:"-"`
	ProvisioningStatus string   `json:"provisioning_status"`
	Port               int      `json:"protocol_port"`
	AdminUp            bool     `json:"admin_state_up"`
	LoadBalancerIDs    []string `json:"-"`
	Tags               []string `json:"tags"`
}

// Pool is a set of members.
type Pool struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProjectID          string `json:"project_id"`
	Protocol           string `json:"protocol"`
	ProvisioningStatus string `json:"provisioning_status"`
	AdminUp            bool   `json:"admin_state_up"`
	// LoadBalancerIDs and ListenerIDs are those that use it.
	LoadBalancerIDs []string `json:"-"`
	ListenerIDs     []string `json:"-"`
	Tags            []string `json:"tags"`
}

// Member is an address and port that traffic is sent to.
type Member struct {
	ID                 string     `json:"id"`
	Name               string     `json:"name"`
	ProvisioningStatus string     `json:"provisioning_status"`
	OperatingStatus    string     `json:"operating_status"`
	Address            netip.Addr `json:"-"`
	Port               int        `json:"protocol_port"`
	// Weight is its share among the members of the pool, 0 to 256; 0: no new connections.
	Weight  int  `json:"weight"`
	AdminUp bool `json:"admin_state_up"`
	// Backup members get traffic when all others are down.
	Backup bool `json:"backup"`
}

// LoadBalancers lists all load balancers of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#list-load-balancers
func (l LoadBalancing) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	all, err := objects(ctx, l.api, "list the load balancers of the project", "loadbalancers", l.inProject(), loadBalancer.convert, "lbaas",
		"loadbalancers")
	return slices.DeleteFunc(all, func(b LoadBalancer) bool { return b.ProjectID != l.client.project }), err
}

// Listeners lists all listeners of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#list-listeners
func (l LoadBalancing) Listeners(ctx context.Context) ([]Listener, error) {
	all, err := objects(ctx, l.api, "list the listeners of the project", "listeners", l.inProject(), listener.convert, "lbaas", "listeners")
	return slices.DeleteFunc(all, func(i Listener) bool { return i.ProjectID != l.client.project }), err
}

// Pools lists all pools of the project. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#list-pools
func (l LoadBalancing) Pools(ctx context.Context) ([]Pool, error) {
	all, err := objects(ctx, l.api, "list the pools of the project", "pools", l.inProject(), pool.convert, "lbaas", "pools")
	return slices.DeleteFunc(all, func(p Pool) bool { return p.ProjectID != l.client.project }), err
}

// Members lists all members of a pool. The list is whole, or there is an error.
// Source: https://docs.openstack.org/api-ref/load-balancer/v2/#list-members
func (l LoadBalancing) Members(ctx context.Context, poolID string) ([]Member, error) {
	return objects(ctx, l.api, "list the members of pool "+poolID, "members", nil, member.convert,
		"lbaas", "pools", url.PathEscape(poolID), "members")
}

// DeleteLoadBalancer has Octavia delete a load balancer with all that depends on it and the port of its address. It is
// PENDING_DELETE for a while. One that has already been deleted is fine. ReasonConflict: it is PENDING, its deletion included.
func (l LoadBalancing) DeleteLoadBalancer(ctx context.Context, id string) error {
	return l.remove(ctx, "delete load balancer "+id, "cascade=true", id, "lbaas", "loadbalancers")
}

// DeleteListener has Octavia delete a listener; the pools behind it stay. One that has already been deleted is fine.
// ReasonConflict: it or its load balancer is PENDING.
func (l LoadBalancing) DeleteListener(ctx context.Context, id string) error {
	return l.remove(ctx, "delete listener "+id, "", id, "lbaas", "listeners")
}

// DeletePool has Octavia delete a pool with its members. One that has already been deleted is fine. ReasonConflict: its load
// balancer is PENDING, or a rule of a listener sends traffic to it.
func (l LoadBalancing) DeletePool(ctx context.Context, id string) error {
	return l.remove(ctx, "delete pool "+id, "", id, "lbaas", "pools")
}

// SetTags replaces all tags of a load balancer. ReasonConflict: it is not ACTIVE. ReasonNotFound: it has been deleted. Source:
// https://docs.openstack.org/api-ref/load-balancer/v2/#update-a-load-balancer
func (l LoadBalancing) SetTags(ctx context.Context, loadBalancerID string, tags []string) error {
	if tags == nil {
		tags = []string{} // null would mean to leave them
	}
	body := map[string]any{"loadbalancer": map[string]any{"tags": tags}}
	return l.call(ctx, "set the tags of load balancer "+loadBalancerID, func(ctx context.Context, octavia *gophercloud.ServiceClient) error {
		var response struct{}
		resp, err := octavia.Put(ctx, octavia.ServiceURL("lbaas", "loadbalancers", url.PathEscape(loadBalancerID)), body, &response,
			&gophercloud.RequestOpts{OkCodes: []int{200, 202}})
		if err == nil {
			_ = resp.Body.Close() // the library has read it
		}
		return err
	})
}
