// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// newPort is the body of the creation or change of a port. Fields of type any are taken and discarded.
type newPort struct {
	Name           *string   `json:"name"`
	Description    *string   `json:"description"`
	NetworkID      string    `json:"network_id"`
	DeviceID       *string   `json:"device_id"`
	DeviceOwner    *string   `json:"device_owner"`
	SecurityGroups *[]string `json:"security_groups"`
	FixedIPs       []struct {
		Address  string `json:"ip_address"`
		SubnetID string `json:"subnet_id"`
	} `json:"fixed_ips"`
	ProjectID    string `json:"project_id"`
	TenantID     string `json:"tenant_id"`
	AdminUp      any    `json:"admin_state_up"`
	AddressPairs []struct {
		Address string `json:"ip_address"`
		MAC     any    `json:"mac_address"`
	} `json:"allowed_address_pairs"`
	PortSecurity any `json:"port_security_enabled"`
	MACAddress   any `json:"mac_address"`
}

func (s *Server) showPort(c *call) *problem {
	p, wrong := s.visiblePort(c, c.PathValue("id"))
	if wrong != nil {
		return wrong
	}
	return c.write(http.StatusOK, map[string]any{"port": s.portBody(*p)})
}

// createPort makes a port, at the next free address of its network unless one is requested, in the default security group unless
// others are.
func (s *Server) createPort(c *call) *problem {
	var given newPort
	if p := readNeutron(c, "port", &given); p != nil {
		return p
	}
	if given.NetworkID == "" {
		return required("network_id")
	}
	sub := s.content.subnet(s.subnetOf(given.NetworkID))
	if sub == nil {
		return &problem{status: http.StatusNotFound, kind: "NetworkNotFound", message: "Network " + given.NetworkID + " could not be found."}
	}
	wanted := ""
	if len(given.FixedIPs) > 0 {
		wanted = given.FixedIPs[0].Address
		if id := given.FixedIPs[0].SubnetID; id != "" && id != sub.id {
			return badRequest("InvalidInput", "Invalid input for operation: Failed to create port on network %s, because fixed_ips included invalid subnet %s.", sub.network, id)
		}
	}
	if given.SecurityGroups == nil {
		given.SecurityGroups = &[]string{s.content.defaultGroup(c.project)}
	}
	if p := s.groupsExist(c, *given.SecurityGroups); p != nil {
		return p
	}
	if p := given.pairsAreRight(); p != nil {
		return p
	}
	address, wrong := s.content.allocate(sub, wanted)
	if wrong != nil {
		return wrong
	}
	made := port{id: uuid.NewString(), project: c.project, network: sub.network, address: address}
	made.change(given)
	s.content.ports = append(s.content.ports, made)
	return c.write(http.StatusCreated, map[string]any{"port": s.portBody(made)})
}

func (s *Server) updatePort(c *call) *problem {
	var given newPort
	if p := readNeutron(c, "port", &given); p != nil {
		return p
	}
	p, wrong := s.visiblePort(c, c.PathValue("id"))
	if wrong != nil {
		return wrong
	}
	if wrong := given.pairsAreRight(); wrong != nil {
		return wrong
	}
	if given.SecurityGroups != nil {
		if wrong := s.groupsExist(c, *given.SecurityGroups); wrong != nil {
			return wrong
		}
	}
	if wrong := s.constrained(c, p.revision); wrong != nil {
		return wrong
	}
	p.change(given)
	return c.write(http.StatusOK, map[string]any{"port": s.portBody(*p)})
}

// deletePort deletes a port, but not the one of a router. A floating IP of it leads nowhere then.
func (s *Server) deletePort(c *call) *problem {
	p, wrong := s.visiblePort(c, c.PathValue("id"))
	if wrong != nil {
		return wrong
	}
	if strings.HasPrefix(p.owner, "network:router") {
		return &problem{status: http.StatusConflict, kind: "ServicePortInUse",
			message: "Port " + p.id + " cannot be deleted directly via the port API: has device owner " + p.owner + "."}
	}
	if t := s.content.trunkOf(p.id); t != nil {
		return &problem{status: http.StatusConflict, kind: "PortInUseAsTrunkParent", message: "Port " + p.id + " is currently a parent port for trunk " + t.id + "."}
	}
	if t := s.content.trunkAbove(p.id); t != nil {
		return &problem{status: http.StatusConflict, kind: "PortInUseAsSubPort", message: "Port " + p.id + " is currently a subport for trunk " + t.id + "."}
	}
	s.content.removePort(p.id)
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) visiblePort(c *call, id string) (*port, *problem) {
	if p := s.content.port(id); p != nil && c.sees(p.project) {
		return p, nil
	}
	return nil, &problem{status: http.StatusNotFound, kind: "PortNotFound", message: "Port " + id + " could not be found."}
}

// addPortTag adds a tag to a port, which may have it already.
func (s *Server) addPortTag(c *call) *problem {
	p, wrong := s.visiblePort(c, c.PathValue("id"))
	if wrong != nil {
		return wrong
	}
	if tag := c.PathValue("tag"); !slices.Contains(p.tags, tag) {
		p.tags = append(p.tags, tag)
		p.revision++
	}
	c.response.WriteHeader(http.StatusCreated)
	return nil
}

func (s *Server) removePortTag(c *call) *problem {
	p, wrong := s.visiblePort(c, c.PathValue("id"))
	if wrong != nil {
		return wrong
	}
	tag := c.PathValue("tag")
	if !slices.Contains(p.tags, tag) {
		return &problem{status: http.StatusNotFound, kind: "TagNotFound", message: "Tag " + tag + " could not be found."}
	}
	p.tags = slices.DeleteFunc(p.tags, func(has string) bool { return has == tag })
	p.revision++
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// change takes over the fields of a body.
func (p *port) change(given newPort) {
	p.revision++
	for from, into := range map[*string]*string{given.Name: &p.name, given.Description: &p.description, given.DeviceID: &p.device, given.DeviceOwner: &p.owner} {
		if from != nil {
			*into = *from
		}
	}
	if given.SecurityGroups != nil {
		p.groups = slices.Clone(*given.SecurityGroups)
	}
	if given.AddressPairs != nil {
		p.pairs = nil
		for _, pair := range given.AddressPairs {
			p.pairs = append(p.pairs, pair.Address)
		}
	}
}

// pairsAreRight checks the allowed address pairs: addresses or ranges.
func (n newPort) pairsAreRight() *problem {
	for _, pair := range n.AddressPairs {
		_, noAddress := netip.ParseAddr(pair.Address)
		if _, noRange := netip.ParsePrefix(pair.Address); noAddress != nil && noRange != nil {
			return badRequest("HTTPBadRequest", "'%s' is not a valid IP address", pair.Address)
		}
	}
	return nil
}

// port returns a port to change, or nothing.
func (c *content) port(id string) *port {
	if i := slices.IndexFunc(c.ports, func(p port) bool { return p.id == id }); i >= 0 {
		return &c.ports[i]
	}
	return nil
}

func (c *content) subnet(id string) *subnet {
	if i := slices.IndexFunc(c.subnets, func(sub subnet) bool { return sub.id == id }); i >= 0 {
		return &c.subnets[i]
	}
	return nil
}

// removePort takes a port away; floating IPs of it lead nowhere then.
func (c *content) removePort(id string) {
	c.ports = slices.DeleteFunc(c.ports, func(p port) bool { return p.id == id })
	for i := range c.floatingIPs {
		if c.floatingIPs[i].port == id {
			c.floatingIPs[i].port = ""
		}
	}
}

// allocate finds a free address of a subnet, or checks whether the requested one is free.
func (c *content) allocate(sub *subnet, wanted string) (string, *problem) {
	taken := map[string]bool{}
	for _, p := range c.ports {
		taken[p.address] = taken[p.address] || p.network == sub.network
	}
	if wanted != "" {
		address, err := netip.ParseAddr(wanted)
		if err != nil || !sub.cidr.Contains(address) {
			return "", badRequest("InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", wanted)
		}
		if taken[wanted] {
			return "", &problem{status: http.StatusConflict, kind: "IpAddressAlreadyAllocated", message: "IP address " + wanted + " already allocated in subnet " + sub.id}
		}
		return wanted, nil
	}
	// The first address is the router's.
	for address := sub.cidr.Addr().Next().Next(); sub.cidr.Contains(address); address = address.Next() {
		if !taken[address.String()] {
			return address.String(), nil
		}
	}
	return "", &problem{status: http.StatusConflict, kind: "IpAddressGenerationFailure", message: "No more IP addresses available on network " + sub.network + "."}
}

// readNeutron reads the object of a body.
func readNeutron(c *call, name string, into any) *problem {
	err := c.read(name, into)
	if err == nil {
		return nil
	}
	if field, ok := errors.AsType[unknownField](err); ok {
		return badRequest("HTTPBadRequest", "Unrecognized attribute(s) '%s'", string(field))
	}
	return badRequest("HTTPBadRequest", "Invalid input for %s. Reason: %v.", name, err)
}

// required is how Neutron rejects a body without an attribute.
func required(attribute string) *problem {
	return badRequest("HTTPBadRequest", "Failed to parse request. Required attribute '%s' not specified", attribute)
}
