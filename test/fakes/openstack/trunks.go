// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// subportOwner is the device owner of a port that is a subport of a trunk, from when an agent has bound it. Neutron's API itself
// sets neither owner nor device.
const subportOwner = "trunk:subport"

// newTrunk is the body of the creation of a trunk.
type newTrunk struct {
	Name     *string `json:"name"`
	PortID   string  `json:"port_id"`
	SubPorts []struct {
		PortID string `json:"port_id"`
		Type   string `json:"segmentation_type"`
		ID     int    `json:"segmentation_id"`
	} `json:"sub_ports"`
	AdminUp any `json:"admin_state_up"`
}

// AddTrunk makes a trunk of a port with subports that an agent has bound, and returns its id.
func (s *Server) AddTrunk(project, parent string, subports ...string) string {
	made := &trunk{id: uuid.NewString(), project: project, port: parent}
	s.change(func(c *content) {
		for i, id := range subports {
			made.subports = append(made.subports, subport{port: id, vlan: 100 + i})
			c.port(id).owner = subportOwner
		}
		c.trunks = append(c.trunks, made)
	})
	return made.id
}

// Unbind takes the owner of a port away, as before an agent binds it.
func (s *Server) Unbind(portID string) {
	s.change(func(c *content) { c.port(portID).owner = "" })
}

// SetAddressPairs gives a port addresses or ranges that it may use besides its own.
func (s *Server) SetAddressPairs(portID string, pairs ...string) {
	s.change(func(c *content) { c.port(portID).pairs = pairs })
}

func (s *Server) listTrunks(c *call) *problem {
	var all []any
	for _, t := range s.content.trunks {
		if c.sees(t.project) {
			all = append(all, trunkBody(t))
		}
	}
	found, unknown := filter(c.URL.Query(), all, "id", "name", "port_id", "project_id", "tenant_id")
	if unknown != "" {
		return unfit(unknown)
	}
	return s.writePage(c, "trunks", found)
}

func trunkBody(t *trunk) map[string]any {
	subports := []any{}
	for _, sub := range t.subports {
		subports = append(subports, map[string]any{"port_id": sub.port, "segmentation_type": "vlan", "segmentation_id": sub.vlan})
	}
	return map[string]any{"id": t.id, "name": "", "port_id": t.port, "project_id": t.project, "tenant_id": t.project, "status": "DOWN",
		"admin_state_up": true, "sub_ports": subports}
}

// createTrunk makes a trunk. A port is in one trunk at most.
func (s *Server) createTrunk(c *call) *problem {
	var given newTrunk
	if p := readNeutron(c, "trunk", &given); p != nil {
		return p
	}
	if given.PortID == "" {
		return required("port_id")
	}
	if _, wrong := s.visiblePort(c, given.PortID); wrong != nil {
		return wrong
	}
	if t := s.content.trunkOf(given.PortID); t != nil {
		return &problem{status: http.StatusConflict, kind: "ParentPortInUse", message: fmt.Sprintf("Port %s is in use by another trunk.", given.PortID)}
	}
	made := &trunk{id: uuid.NewString(), project: c.project, port: given.PortID}
	for _, sub := range given.SubPorts {
		p, wrong := s.visiblePort(c, sub.PortID)
		if wrong != nil {
			return wrong
		}
		if s.content.trunkAbove(p.id) != nil {
			return &problem{status: http.StatusConflict, kind: "TrunkPortInUse", message: fmt.Sprintf("Port %s is in use by another trunk.", sub.PortID)}
		}
		made.subports = append(made.subports, subport{port: sub.PortID, vlan: sub.ID})
	}
	s.content.trunks = append(s.content.trunks, made)
	return c.write(http.StatusCreated, map[string]any{"trunk": trunkBody(made)})
}

// deleteTrunk deletes a trunk, and sets its subports free.
func (s *Server) deleteTrunk(c *call) *problem {
	id := c.PathValue("id")
	i := slices.IndexFunc(s.content.trunks, func(t *trunk) bool { return t.id == id && c.sees(t.project) })
	if i < 0 {
		return &problem{status: http.StatusNotFound, kind: "TrunkNotFound", message: "Trunk " + id + " could not be found."}
	}
	for _, sub := range s.content.trunks[i].subports {
		if p := s.content.port(sub.port); p != nil {
			p.owner = ""
		}
	}
	s.content.trunks = slices.Delete(s.content.trunks, i, i+1)
	c.response.WriteHeader(http.StatusNoContent)
	return nil
}

// trunkOf returns the trunk that a port is the parent of, nil for none.
func (c *content) trunkOf(port string) *trunk {
	if i := slices.IndexFunc(c.trunks, func(t *trunk) bool { return t.port == port }); i >= 0 {
		return c.trunks[i]
	}
	return nil
}

// trunkAbove returns the trunk that a port is a subport of, nil for none.
func (c *content) trunkAbove(port string) *trunk {
	if i := slices.IndexFunc(c.trunks, func(t *trunk) bool {
		return slices.ContainsFunc(t.subports, func(s subport) bool { return s.port == port })
	}); i >= 0 {
		return c.trunks[i]
	}
	return nil
}
