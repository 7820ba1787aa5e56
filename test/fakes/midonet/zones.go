// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"maps"
	"net/http"
	"slices"
)

// createZone makes a tunnel zone. Its name is unique in the whole MidoNet.
func (s *Server) createZone(kind, _ string, f fields) (string, *problem) {
	if p := required(f, "name", "type"); p != nil {
		return "", p
	}
	id, p := s.newID(kind, f)
	if p == nil {
		p = s.checkZoneName(f)
	}
	if p != nil {
		return "", p
	}
	s.store.add(kind, id, "", -1, f)
	return id, nil
}

// updateZone replaces a tunnel zone. The check of the name finds the zone itself, too: a PUT that keeps the name is rejected, as on
// the real server.
func (s *Server) updateZone(o *object, f fields) *problem {
	if p := required(f, "name", "type"); p != nil {
		return p
	}
	if p := s.checkZoneName(f); p != nil {
		return p
	}
	f["id"] = o.id
	s.store.set(o, f)
	return nil
}

func (s *Server) checkZoneName(f fields) *problem {
	for _, zone := range s.store.all("TunnelZone") {
		if zone.fields.text("name") == f.text("name") {
			return reject(http.StatusConflict, "the name %q of the tunnel zone is in use", f.text("name"))
		}
	}
	return nil
}

// createZoneHost puts a host into a zone.
func (s *Server) createZoneHost(kind, zone string, f fields) (string, *problem) {
	if p := required(f, "hostId", "ipAddress"); p != nil {
		return "", p
	}
	host := f.text("hostId")
	switch {
	case !s.store.has("TunnelZone", zone):
		return "", missing("TunnelZone", zone)
	case !s.store.has("Host", host):
		return "", missing("Host", host)
	case s.store.has(kind, below(zone, host)):
		return "", exists(kind, host)
	}
	delete(f, "tunnelZoneId")
	s.store.add(kind, below(zone, host), zone, -1, f)
	return host, nil
}

// createBinding binds a port to an interface of a host. The binding is kept in the port.
func (s *Server) createBinding(_, host string, f fields) (string, *problem) {
	if p := required(f, "portId", "interfaceName"); p != nil {
		return "", p
	}
	if !s.store.has("Host", host) {
		return "", missing("Host", host)
	}
	inZone := false
	for r := range s.store.referrers[host] {
		inZone = inZone || r.kind == "TunnelZoneHost"
	}
	if !inZone {
		return "", reject(http.StatusConflict, "host %s is in no tunnel zone", host)
	}
	port := s.store.objects[key{"Port", f.text("portId")}]
	if port == nil {
		return "", missing("Port", f.text("portId"))
	}
	if port.fields.text("hostId") != "" {
		return "", reject(http.StatusConflict, "port %s is bound already", port.id)
	}
	for _, bound := range s.boundTo(host) {
		if bound.fields.text("interfaceName") == f.text("interfaceName") {
			return "", reject(http.StatusConflict, "interface %s of the host is in use", f.text("interfaceName"))
		}
	}
	changed := maps.Clone(port.fields)
	changed["hostId"], changed["interfaceName"] = host, f.text("interfaceName")
	s.store.set(port, changed)
	return port.id, nil
}

// unbind responds DELETE /hosts/{parent}/ports/{id}. The server checks only whether the port exists.
func (s *Server) unbind(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := s.store.objects[key{"Port", r.PathValue("id")}]
	if port == nil {
		writeProblem(w, missing("HostInterfacePort", r.PathValue("id")))
		return
	}
	changed := maps.Clone(port.fields)
	delete(changed, "hostId")
	delete(changed, "interfaceName")
	s.store.set(port, changed)
	w.WriteHeader(http.StatusNoContent)
}

// boundTo returns the ports that are bound to a host, the oldest first.
func (s *Server) boundTo(host string) []*object {
	var ports []*object
	for r := range s.store.referrers[host] {
		if r.kind == "Port" {
			ports = append(ports, r)
		}
	}
	slices.SortFunc(ports, func(a, b *object) int { return int(int64(a.number) - int64(b.number)) })
	return ports
}
