// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// common are the fields that all things of Octavia have.
type common struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	AdminUp     *bool    `json:"admin_state_up"`
	ProjectID   string   `json:"project_id"`
	TenantID    string   `json:"tenant_id"`
	Tags        []string `json:"tags"`
}

func (c common) down() bool { return c.AdminUp != nil && !*c.AdminUp }

// newBalancer is the body of the creation of a load balancer.
type newBalancer struct {
	common
	VIPAddress       string        `json:"vip_address"`
	VIPPortID        string        `json:"vip_port_id"`
	VIPSubnetID      string        `json:"vip_subnet_id"`
	VIPNetworkID     string        `json:"vip_network_id"`
	VIPQosPolicyID   any           `json:"vip_qos_policy_id"`
	AdditionalVIPs   []any         `json:"additional_vips"`
	Provider         any           `json:"provider"`
	FlavorID         any           `json:"flavor_id"`
	AvailabilityZone any           `json:"availability_zone"`
	Listeners        []newListener `json:"listeners"`
	Pools            []newPool     `json:"pools"`
}

// newListener is the body of the creation of a listener. Fields of type any are taken and discarded.
type newListener struct {
	common
	Protocol             string   `json:"protocol"`
	Port                 int      `json:"protocol_port"`
	LoadBalancerID       string   `json:"loadbalancer_id"`
	DefaultPoolID        string   `json:"default_pool_id"`
	DefaultPool          *newPool `json:"default_pool"`
	ConnectionLimit      any      `json:"connection_limit"`
	InsertHeaders        any      `json:"insert_headers"`
	L7Policies           any      `json:"l7policies"`
	AllowedCIDRs         any      `json:"allowed_cidrs"`
	TLSContainer         any      `json:"default_tls_container_ref"`
	SNIContainers        any      `json:"sni_container_refs"`
	TLSVersions          any      `json:"tls_versions"`
	TimeoutClientData    any      `json:"timeout_client_data"`
	TimeoutMemberConnect any      `json:"timeout_member_connect"`
	TimeoutMemberData    any      `json:"timeout_member_data"`
	TimeoutTCPInspect    any      `json:"timeout_tcp_inspect"`
}

// newPool is the body of the creation of a pool.
type newPool struct {
	common
	Protocol           string      `json:"protocol"`
	Algorithm          string      `json:"lb_algorithm"`
	LoadBalancerID     string      `json:"loadbalancer_id"`
	ListenerID         string      `json:"listener_id"`
	Members            []newMember `json:"members"`
	SessionPersistence any         `json:"session_persistence"`
	HealthMonitor      any         `json:"healthmonitor"`
	TLSEnabled         any         `json:"tls_enabled"`
}

// newMember is the body of the creation of a member.
type newMember struct {
	common
	Address        string `json:"address"`
	Port           int    `json:"protocol_port"`
	Weight         *int   `json:"weight"`
	Backup         bool   `json:"backup"`
	SubnetID       string `json:"subnet_id"`
	MonitorAddress any    `json:"monitor_address"`
	MonitorPort    any    `json:"monitor_port"`
}

// check checks what a creation of a listener must have.
func (l newListener) check() *problem {
	if !slices.Contains([]string{"TCP", "UDP", "SCTP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS"}, l.Protocol) {
		return badField("protocol", l.Protocol)
	}
	if l.Port < 1 || l.Port > 65535 {
		return badField("protocol_port", "")
	}
	return nil
}

// check checks what a creation of a pool must have.
func (p newPool) check() *problem {
	if !slices.Contains([]string{"TCP", "UDP", "SCTP", "HTTP", "HTTPS", "PROXY", "PROXYV2"}, p.Protocol) {
		return badField("protocol", p.Protocol)
	}
	if !slices.Contains([]string{"ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"}, p.Algorithm) {
		return badField("lb_algorithm", p.Algorithm)
	}
	for _, m := range p.Members {
		if wrong := m.check(); wrong != nil {
			return wrong
		}
	}
	return nil
}

// check checks what a creation of a member must have.
func (m newMember) check() *problem {
	if _, err := netip.ParseAddr(m.Address); err != nil {
		return badField("address", m.Address)
	}
	if m.Port < 1 || m.Port > 65535 {
		return badField("protocol_port", "")
	}
	if m.Weight != nil && (*m.Weight < 0 || *m.Weight > 256) {
		return badField("weight", "")
	}
	return nil
}

func badField(name, value string) *problem {
	return octaviaProblem(http.StatusBadRequest, "Invalid input for field/attribute "+name+". Value: '"+value+"'.")
}

// readOctavia reads the object of a body.
func readOctavia(c *call, name string, into any) *problem {
	err := c.read(name, into)
	if err == nil {
		return nil
	}
	if field, ok := errors.AsType[unknownField](err); ok {
		return octaviaProblem(http.StatusBadRequest, "Unknown attribute for argument "+name+"_."+name+": "+string(field))
	}
	return badField(name, strings.TrimPrefix(err.Error(), "json: "))
}
