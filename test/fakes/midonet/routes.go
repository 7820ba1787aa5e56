// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// routes returns the API: its paths, methods and who responds to them.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	for path, kind := range map[string]string{"hosts": "Host", "tunnel_zones": "TunnelZone", "routers": "Router", "bridges": "Bridge", "chains": "Chain"} {
		mux.HandleFunc("GET /"+path, s.list(kind, ""))
		mux.HandleFunc("GET /"+path+"/{id}", s.get(kind))
	}
	for path, kind := range map[string]string{"ports": "Port", "routes": "Route", "rules": "Rule"} {
		mux.HandleFunc("GET /"+path+"/{id}", s.get(kind))
	}
	mux.HandleFunc("GET /tunnel_zones/{parent}/hosts", s.list("TunnelZoneHost", "TunnelZone"))
	mux.HandleFunc("GET /tunnel_zones/{parent}/hosts/{id}", s.get("TunnelZoneHost"))
	mux.HandleFunc("GET /routers/{parent}/ports", s.list("Port", "Router"))
	mux.HandleFunc("GET /routers/{parent}/routes", s.list("Route", "Router"))
	mux.HandleFunc("GET /bridges/{parent}/ports", s.list("Port", "Bridge"))
	mux.HandleFunc("GET /bridges/{parent}/mac_table", s.list("MACPort", "Bridge"))
	mux.HandleFunc("GET /bridges/{parent}/mac_table/{id}", s.get("MACPort"))
	mux.HandleFunc("GET /bridges/{parent}/arp_table", s.list("IPv4MACPair", "Bridge"))
	mux.HandleFunc("GET /bridges/{parent}/arp_table/{id}", s.get("IPv4MACPair"))
	mux.HandleFunc("GET /chains/{parent}/rules", s.list("Rule", "Chain"))
	mux.HandleFunc("GET /hosts/{parent}/ports", s.list("HostInterfacePort", "Host"))
	mux.HandleFunc("GET /hosts/{parent}/ports/{id}", s.get("HostInterfacePort"))

	mux.HandleFunc("POST /tunnel_zones", s.create("TunnelZone", s.createZone))
	mux.HandleFunc("PUT /tunnel_zones/{id}", s.update("TunnelZone", s.updateZone))
	mux.HandleFunc("POST /tunnel_zones/{parent}/hosts", s.create("TunnelZoneHost", s.createZoneHost))
	mux.HandleFunc("POST /routers", s.create("Router", s.createDevice))
	mux.HandleFunc("PUT /routers/{id}", s.update("Router", s.updateDevice))
	mux.HandleFunc("POST /bridges", s.create("Bridge", s.createDevice))
	mux.HandleFunc("PUT /bridges/{id}", s.update("Bridge", s.updateDevice))
	mux.HandleFunc("POST /bridges/{parent}/ports", s.create("Port", s.createBridgePort))
	mux.HandleFunc("POST /routers/{parent}/ports", s.create("Port", s.createRouterPort))
	mux.HandleFunc("PUT /ports/{id}", s.update("Port", s.updatePort))
	mux.HandleFunc("POST /ports/{parent}/link", s.create("PortLink", s.createLink))
	mux.HandleFunc("POST /routers/{parent}/routes", s.create("Route", s.createRoute))
	mux.HandleFunc("POST /chains", s.create("Chain", s.createChain))
	mux.HandleFunc("POST /chains/{parent}/rules", s.create("Rule", s.createRule))
	mux.HandleFunc("POST /hosts/{parent}/ports", s.create("HostInterfacePort", s.createBinding))
	mux.HandleFunc("POST /bridges/{parent}/mac_table", s.create("MACPort", s.createMACPort))
	mux.HandleFunc("POST /bridges/{parent}/arp_table", s.create("IPv4MACPair", s.createARP))

	// The server has a PUT for these, which takes no media type at all.
	for _, path := range []string{
		"/chains/{id}", "/rules/{id}", "/routes/{id}", "/tunnel_zones/{parent}/hosts/{id}",
		"/bridges/{parent}/mac_table/{id}", "/bridges/{parent}/arp_table/{id}", "/hosts/{parent}/ports/{id}",
	} {
		mux.HandleFunc("PUT "+path, func(w http.ResponseWriter, _ *http.Request) {
			writeProblem(w, reject(http.StatusNotAcceptable, "resources of this kind cannot be updated"))
		})
	}

	for path, kind := range map[string]string{
		"/tunnel_zones/{id}": "TunnelZone", "/tunnel_zones/{parent}/hosts/{id}": "TunnelZoneHost", "/routers/{id}": "Router",
		"/bridges/{id}": "Bridge", "/ports/{id}": "Port", "/routes/{id}": "Route", "/chains/{id}": "Chain", "/rules/{id}": "Rule",
		"/bridges/{parent}/mac_table/{id}": "MACPort", "/bridges/{parent}/arp_table/{id}": "IPv4MACPair",
	} {
		mux.HandleFunc("DELETE "+path, s.remove(kind))
	}
	mux.HandleFunc("DELETE /ports/{id}/link", s.unlink)
	mux.HandleFunc("DELETE /hosts/{parent}/ports/{id}", s.unbind)
	return mux
}

// create responds to a POST: 201 with the place of what was made, or a rejection.
func (s *Server) create(kind string, add func(kind, parent string, f fields) (string, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, p := fieldsOf(r, kind)
		if p == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			var id string
			if id, p = add(kind, r.PathValue("parent"), f); p == nil {
				w.Header().Set("Location", Root+r.URL.Path+"/"+id)
				w.WriteHeader(http.StatusCreated)
				return
			}
		}
		writeProblem(w, p)
	}
}

// update responds to a PUT: 204, or a rejection. That the resource is missing comes first.
func (s *Server) update(kind string, change func(o *object, f fields) *problem) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, p := fieldsOf(r, kind)
		if p == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if o := s.store.objects[key{kind, r.PathValue("id")}]; o == nil {
				p = missing(kind, r.PathValue("id"))
			} else if p = change(o, f); p == nil {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		writeProblem(w, p)
	}
}

// remove responds to a DELETE. Of three kinds the server does not report whether there was one.
func (s *Server) remove(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id := itemID(r)
		switch o := s.store.objects[key{kind, id}]; {
		case o != nil:
			s.store.delete(o)
		case kind != "Router" && kind != "Route" && kind != "TunnelZone":
			writeProblem(w, missing(kind, id))
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// itemID returns the id of a resource in the store: with the parent's for kinds that are unique below a parent only.
func itemID(r *http.Request) string {
	if parent := r.PathValue("parent"); parent != "" {
		return below(parent, r.PathValue("id"))
	}
	return r.PathValue("id")
}

func below(parent, id string) string { return parent + "/" + id }

// lastSegment returns an id without the parent's.
func lastSegment(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

func missing(kind, id string) *problem {
	return reject(http.StatusNotFound, "there is no %s %s", kind, id)
}

func exists(kind, id string) *problem {
	return reject(http.StatusConflict, "there is a %s %s already", kind, id)
}

// newID returns the id of a body, or a new one, and rejects one that is taken.
func (s *Server) newID(kind string, f fields) (string, *problem) {
	id := strings.ToLower(f.text("id"))
	if id == "" {
		id = uuid.NewString()
	}
	if s.store.has(kind, id) {
		return "", exists(kind, id)
	}
	f["id"] = id
	return id, nil
}

// checkFilters wants the chains to exist that a body has as filters.
func (s *Server) checkFilters(f fields) *problem {
	for _, name := range []string{"inboundFilterId", "outboundFilterId"} {
		if id := f.text(name); id != "" && !s.store.has("Chain", id) {
			return missing("Chain", id)
		}
	}
	return nil
}
