// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// pages are for tests in other processes and for users with curl:
//
//	GET    /_fake/            what the fake holds, to read
//	GET    /_fake/content     the same as JSON
//	DELETE /_fake/content     discard all except the hosts
//	GET    /_fake/requests    how many requests came, by method, path and code, and the last that were rejected
//	DELETE /_fake/requests    count from 0
//	GET    /_fake/hosts       the hosts
//	PUT    /_fake/hosts/NAME  add a host of that name; the response has its id
//	GET    /_fake/faults      the faults that are set
//	POST   /_fake/faults      set a Fault, for instance {"method":"POST","path":"/chains","status":503,"times":3}
//	DELETE /_fake/faults      take all faults away
//	DELETE /_fake/tokens      end all tokens
func (s *Server) pages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_fake/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.Listing())
	})
	mux.HandleFunc("GET /_fake/content", func(w http.ResponseWriter, _ *http.Request) { page(w, s.Content()) })
	mux.HandleFunc("DELETE /_fake/content", done(s.Reset))
	mux.HandleFunc("GET /_fake/requests", s.listRequests)
	mux.HandleFunc("DELETE /_fake/requests", done(s.ResetRequests))
	mux.HandleFunc("GET /_fake/hosts", func(w http.ResponseWriter, _ *http.Request) {
		page(w, slices.DeleteFunc(s.Content(), func(i Item) bool { return i.Kind != "Host" }))
	})
	mux.HandleFunc("PUT /_fake/hosts/{name}", func(w http.ResponseWriter, r *http.Request) {
		page(w, map[string]string{"id": s.AddHost(r.PathValue("name"))})
	})
	mux.HandleFunc("GET /_fake/faults", s.listFaults)
	mux.HandleFunc("POST /_fake/faults", s.setFault)
	mux.HandleFunc("DELETE /_fake/faults", done(s.Heal))
	mux.HandleFunc("DELETE /_fake/tokens", done(s.RevokeTokens))
	return mux
}

func (s *Server) setFault(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	if err == nil {
		var f Fault
		if f, err = decodeFault(data); err == nil {
			err = s.Inject(f)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func done(act func()) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		act()
		w.WriteHeader(http.StatusNoContent)
	}
}

func page(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(value)
}

// HostID returns the id of the host of a name.
func HostID(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String()
}

// AddHost adds a host whose agent runs, unless there is one of that name, and returns its id.
func (s *Server) AddHost(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := HostID(name)
	if !s.store.has("Host", id) {
		s.store.add("Host", id, "", -1, fields{"id": id, "name": name, "alive": true, "addresses": []any{}})
	}
	return id
}

// Reset discards all except the hosts.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	hosts := s.store.all("Host")
	s.store = newStore()
	for _, h := range hosts {
		s.store.add("Host", h.id, "", -1, h.fields)
	}
}

// Item is a resource that the fake holds.
type Item struct {
	Kind   string `json:"kind"`
	Parent string `json:"parent,omitempty"`
	// ID is the last segment of its path.
	ID string `json:"id"`
	// Body is what a GET shows.
	Body map[string]any `json:"body"`
}

// Content returns all that the fake holds, by kind, parent and then id; rules by their place in the chain. Bindings and
// links are in their ports.
func (s *Server) Content() []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := make([]Item, 0, len(s.store.objects))
	places := map[*object]int{}
	for k, siblings := range s.store.children {
		if k.kind == "Rule" {
			for i, o := range siblings {
				places[o] = i
			}
		}
	}
	for _, o := range s.store.objects {
		items = append(items, Item{Kind: o.kind, Parent: o.parent, ID: lastSegment(o.id), Body: s.view(o, places[o])})
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Parent, b.Parent),
			cmp.Compare(fields(a.Body).number("position"), fields(b.Body).number("position")), strings.Compare(a.ID, b.ID))
	})
	return items
}
