// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
)

// PagesRoot is what the paths of the pages begin with. No service of OpenStack has such a path.
const PagesRoot = "/_fake/"

// pages are for programs in other processes and for users with curl:
//
//	GET    /_fake/                                    what the fake holds, to read
//	GET    /_fake/content                             the same as JSON
//	PUT    /_fake/projects/PROJECT/servers/ADDRESS    add a server with that address, unless there is one
//	DELETE /_fake/projects/PROJECT/servers/ADDRESS    delete it with its port
//	POST   /_fake/projects/PROJECT/volumes/NAME       add a volume with metadata, for instance {"owner":"a"}; the response has its id
//	PUT    /_fake/routers/ID/routes                   replace the routes, for instance [{"destination":"100.64.1.0/24","nexthop":"10.0.0.5"}]
func (s *Server) pages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_fake/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.Listing())
	})
	mux.HandleFunc("GET /_fake/content", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Items())
	})
	mux.HandleFunc("PUT /_fake/projects/{project}/servers/{address}", s.putServer)
	mux.HandleFunc("DELETE /_fake/projects/{project}/servers/{address}", s.deleteServer)
	mux.HandleFunc("POST /_fake/projects/{project}/volumes/{name}", s.postVolume)
	mux.HandleFunc("PUT /_fake/routers/{id}/routes", s.putRoutes)
	return mux
}

func (s *Server) putServer(w http.ResponseWriter, r *http.Request) {
	project, address := r.PathValue("project"), r.PathValue("address")
	id := s.serverAt(project, address)
	if id == "" {
		network := s.networkOf(address)
		if network == "" {
			http.Error(w, fmt.Sprintf("no network has the address %q", address), http.StatusBadRequest)
			return
		}
		id = s.AddServer(project, network, address, active)
	}
	_, _ = fmt.Fprintln(w, id)
}

func (s *Server) deleteServer(w http.ResponseWriter, r *http.Request) {
	project, address := r.PathValue("project"), r.PathValue("address")
	id := s.serverAt(project, address)
	if id == "" {
		http.Error(w, fmt.Sprintf("project %s has no server with the address %q", project, address), http.StatusNotFound)
		return
	}
	s.RemoveServer(id, false)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) postVolume(w http.ResponseWriter, r *http.Request) {
	var metadata map[string]string
	if err := json.NewDecoder(io.LimitReader(r.Body, bodyLimit)).Decode(&metadata); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintln(w, s.AddVolume(r.PathValue("project"), Volume{Name: r.PathValue("name"), Metadata: metadata}))
}

func (s *Server) putRoutes(w http.ResponseWriter, r *http.Request) {
	var routes []Route
	if err := json.NewDecoder(io.LimitReader(r.Body, bodyLimit)).Decode(&routes); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	known := false
	s.change(func(c *content) { known = c.routers[r.PathValue("id")] != nil })
	if !known {
		http.Error(w, fmt.Sprintf("there is no router %q", r.PathValue("id")), http.StatusNotFound)
		return
	}
	s.SetRoutes(r.PathValue("id"), routes...)
	w.WriteHeader(http.StatusNoContent)
}

// serverAt returns the id of the server with an address, or "".
func (s *Server) serverAt(project, address string) (id string) {
	s.change(func(c *content) {
		for _, v := range c.servers {
			if v.project == project && slices.Contains(v.addresses, address) {
				id = v.id
			}
		}
	})
	return id
}

// networkOf returns the network whose subnet has an address, or "". External networks have no servers.
func (s *Server) networkOf(address string) (id string) {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	s.change(func(c *content) {
		for _, sub := range c.subnets {
			if sub.cidr.Contains(at) && !c.external[sub.network] {
				id = sub.network
			}
		}
	})
	return id
}

// Item is one resource that the fake holds.
type Item struct {
	Kind    string `json:"kind"`
	Project string `json:"project,omitempty"`
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	// Detail is what tells a user which one it is: the address, the metadata, the owner.
	Detail string `json:"detail,omitempty"`
}

// Items returns all that the fake holds, by kind, name, detail and id. Each route of a router is one.
func (s *Server) Items() []Item {
	items := []Item{}
	add := func(kind, project, id, name, detail string) {
		items = append(items, Item{Kind: kind, Project: project, ID: id, Name: name, Detail: detail})
	}
	s.change(func(c *content) {
		for _, sub := range c.subnets {
			kind := "network"
			if c.external[sub.network] {
				kind = "external network"
			}
			add(kind, "", sub.network, "", sub.cidr.String())
			add("subnet", "", sub.id, "", sub.cidr.String())
		}
		for id, r := range c.routers {
			add("router", r.project, id, "", "")
			for _, route := range r.routes {
				add("route", r.project, id, "", route.String())
			}
		}
		for _, v := range c.servers {
			add("server", v.project, v.id, v.name, v.status)
		}
		for _, p := range c.ports {
			add("port", p.project, p.id, cmp.Or(p.name, p.owner), p.address)
		}
		for _, f := range c.floatingIPs {
			add("floating IP", f.project, f.id, f.address, f.description)
		}
		for _, g := range c.groups {
			add("security group", g.project, g.ID, g.Name, g.Description)
		}
		for _, v := range c.volumes {
			add("volume", v.project, v.ID, v.Name, v.Status+marks(v.Metadata))
		}
		for _, v := range c.snapshots {
			add("snapshot", v.project, v.ID, v.Name, v.Status+marks(v.Metadata))
		}
		for _, b := range c.balancers {
			add("load balancer", b.project, b.ID, b.Name, b.ProvisioningStatus+" "+b.VIP)
		}
	})
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Detail, b.Detail),
			strings.Compare(a.ID, b.ID))
	})
	return items
}

// marks returns metadata as a user reads it.
func marks(metadata map[string]string) (text string) {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		text += " " + key + "=" + metadata[key]
	}
	return text
}

// Listing returns the same as a table for users.
func (s *Server) Listing() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "KIND\tPROJECT\tNAME\tDETAIL")
	for _, i := range s.Items() {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", i.Kind, cmp.Or(i.Project, "-"), cmp.Or(i.Name, i.ID), i.Detail)
	}
	_ = table.Flush()
	return text.String()
}
