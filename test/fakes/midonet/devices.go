// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// createDevice makes a bridge or a router.
func (s *Server) createDevice(kind, _ string, f fields) (string, *problem) {
	id, p := s.newID(kind, f)
	if p == nil {
		p = s.checkFilters(f)
	}
	if p != nil {
		return "", p
	}
	s.store.add(kind, id, "", -1, f)
	return id, nil
}

// updateDevice replaces all of a bridge or a router but its id and its ports: a filter that is left out is cleared.
func (s *Server) updateDevice(o *object, f fields) *problem {
	if p := s.checkFilters(f); p != nil {
		return p
	}
	f["id"] = o.id
	s.store.set(o, f)
	return nil
}

func (s *Server) createBridgePort(kind, bridge string, f fields) (string, *problem) {
	if f.text("type") != "Bridge" {
		return "", reject(http.StatusBadRequest, "not a bridge port")
	}
	return s.createPort(kind, "Bridge", bridge, f)
}

// createRouterPort makes a port, gives it a MAC address if it has none, and makes the route to the port itself.
func (s *Server) createRouterPort(kind, router string, f fields) (string, *problem) {
	subnets, _ := f["portSubnet"].([]any)
	if f.text("type") != "Router" {
		return "", reject(http.StatusBadRequest, "not a router port")
	}
	if len(subnets) == 0 {
		return "", reject(http.StatusBadRequest, "portSubnet may not be null")
	}
	id, p := s.createPort(kind, "Router", router, f)
	if p != nil {
		return "", p
	}
	if f.text("portMac") == "" {
		sum := sha256.Sum256([]byte(id))
		f["portMac"] = fmt.Sprintf("ac:ca:ba:%02x:%02x:%02x", sum[0], sum[1], sum[2])
	}
	address, _, _ := strings.Cut(subnets[0].(string), "/")
	route := uuid.NewString()
	s.store.add("Route", route, router, -1, fields{
		"id": route, "type": "Local", "nextHopPort": id, "srcNetworkAddr": "0.0.0.0", "srcNetworkLength": json.Number("0"),
		"dstNetworkAddr": address, "dstNetworkLength": json.Number("32"),
	})
	return id, nil
}

func (s *Server) createPort(kind, parentKind, parent string, f fields) (string, *problem) {
	id, p := s.newID(kind, f)
	if p == nil && !s.store.has(parentKind, parent) {
		p = missing(parentKind, parent)
	}
	if p == nil {
		p = s.checkFilters(f)
	}
	if p != nil {
		return "", p
	}
	for _, name := range serverFields() {
		delete(f, name)
	}
	f["tunnelKey"] = json.Number(strconv.FormatUint(s.store.created+1, 10))
	s.store.add(kind, id, parent, -1, f)
	return id, nil
}

// serverFields returns the fields of a port that are not the client's to set.
func serverFields() []string {
	return []string{"hostId", "interfaceName", "peerId", "tunnelKey", "deviceId", "active"}
}

// updatePort replaces all of a port but its id, its link and its binding. The MAC address of a router's port is deleted when it is
// left out.
func (s *Server) updatePort(o *object, f fields) *problem {
	if f.text("type") != o.fields.text("type") {
		return reject(http.StatusBadRequest, "the type of a port cannot change")
	}
	if p := s.checkFilters(f); p != nil {
		return p
	}
	for _, name := range serverFields() {
		delete(f, name)
		if value, ok := o.fields[name]; ok {
			f[name] = value
		}
	}
	f["id"] = o.id
	s.store.set(o, f)
	return nil
}

// createLink joins two ports that have no peer yet.
func (s *Server) createLink(_, id string, f fields) (string, *problem) {
	if p := required(f, "peerId"); p != nil {
		return "", p
	}
	port, peer := s.store.objects[key{"Port", id}], s.store.objects[key{"Port", f.text("peerId")}]
	switch {
	case port == nil:
		return "", missing("Port", id)
	case peer == nil:
		return "", missing("Port", f.text("peerId"))
	case port == peer, port.fields.text("peerId") != "", peer.fields.text("peerId") != "":
		return "", reject(http.StatusConflict, "the ports cannot be linked")
	case port.fields.text("type") == "Bridge" && peer.fields.text("type") == "Bridge" && port.parent == peer.parent:
		return "", reject(http.StatusConflict, "the ports cannot be linked")
	}
	s.setPeer(port, peer.id)
	s.setPeer(peer, port.id)
	return "", nil
}

// unlink responds DELETE /ports/{id}/link. A port without a link is no error.
func (s *Server) unlink(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := s.store.objects[key{"Port", r.PathValue("id")}]
	if port == nil {
		writeProblem(w, missing("Port", r.PathValue("id")))
		return
	}
	if peer := s.store.objects[key{"Port", port.fields.text("peerId")}]; peer != nil {
		s.setPeer(peer, "")
		s.setPeer(port, "")
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) setPeer(port *object, peer string) {
	changed := maps.Clone(port.fields)
	delete(changed, "peerId")
	if peer != "" {
		changed["peerId"] = peer
	}
	s.store.set(port, changed)
}
