// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// get responds with one resource.
func (s *Server) get(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := checkAccept(r, kind, false); p != nil {
			writeProblem(w, p)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if kind == "HostInterfacePort" {
			port := s.store.objects[key{"Port", r.PathValue("id")}]
			if port == nil || port.fields.text("hostId") != r.PathValue("parent") {
				writeProblem(w, missing(kind, r.PathValue("id")))
				return
			}
			writeJSON(w, r, binding(port))
			return
		}
		o := s.store.objects[key{kind, itemID(r)}]
		if o == nil {
			writeProblem(w, missing(kind, r.PathValue("id")))
			return
		}
		writeJSON(w, r, s.view(o, -1))
	}
}

// list responds with all resources of a kind, those under a parent when the kind has one.
func (s *Server) list(kind, parentKind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := checkAccept(r, kind, true); p != nil {
			writeProblem(w, p)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		parent := r.PathValue("parent")
		if parentKind != "" && !s.store.has(parentKind, parent) {
			writeProblem(w, missing(parentKind, parent))
			return
		}
		views := []fields{}
		switch {
		case kind == "HostInterfacePort":
			for _, port := range s.boundTo(parent) {
				views = append(views, binding(port))
			}
		case parentKind != "":
			for i, o := range s.store.under(kind, parent) {
				views = append(views, s.view(o, i))
			}
		default:
			query := r.URL.Query()
			for _, o := range s.store.all(kind) {
				if !query.Has("tenant_id") || o.fields.text("tenantId") == query.Get("tenant_id") {
					views = append(views, s.view(o, -1))
				}
			}
		}
		writeJSON(w, r, views)
	}
}

// view returns a resource as the API shows it: with its defaults and with what follows from its place. place is that among
// its siblings, negative when it is not known.
func (s *Server) view(o *object, place int) fields {
	v := maps.Clone(o.fields)
	switch o.kind {
	case "Router", "Bridge":
		setDefault(v, "adminStateUp", true)
	case "Port":
		setDefault(v, "adminStateUp", true)
		v["active"] = v.text("hostId") != ""
		v["deviceId"] = o.parent
	case "Route":
		v["routerId"] = o.parent
		setDefault(v, "weight", json.Number("0"))
	case "Rule":
		for i, sibling := range s.store.children[key{"Rule", o.parent}] {
			if place < 0 && sibling == o {
				place = i
			}
		}
		v["position"] = json.Number(strconv.Itoa(place + 1))
		v["chainId"] = o.parent
	case "MACPort":
		v["bridgeId"] = o.parent
	case "TunnelZoneHost":
		v["tunnelZoneId"] = o.parent
	}
	return v
}

func setDefault(f fields, name string, value any) {
	if _, ok := f[name]; !ok {
		f[name] = value
	}
}

// binding shows a port as the HostInterfacePort that it carries.
func binding(port *object) fields {
	return fields{"hostId": port.fields["hostId"], "portId": port.id, "interfaceName": port.fields["interfaceName"]}
}
