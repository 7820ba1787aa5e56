// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Paths that the services are under.
const (
	identityRoot = "/identity"
	networkRoot  = "/network"
	computeRoot  = "/compute/v2.1"
)

// Region is the region of all endpoints.
const Region = "RegionOne"

// bodyLimit is the most that a request may hold, in bytes.
const bodyLimit = 1 << 20

// Options say how the fake behaves.
type Options struct {
	// TokenLifetime is how long a token is good for; 0: an hour.
	TokenLifetime time.Duration
	// MaxRoutes is how many routes a router may have; 0: 30, as in Neutron.
	MaxRoutes int
	// PageSize is how many servers or ports a page has; 0: 1000.
	PageSize int
	// NoAtomicRoutes takes the extension extraroute-atomic away, NoRevisions the revision numbers.
	NoAtomicRoutes, NoRevisions bool
	// Now is the clock of the tokens; nil: the real one.
	Now func() time.Time
}

// Request is one that arrived.
type Request struct {
	Method, Path, Query string
	UserAgent           string
	// Status is the code of the answer, 0 when the connection was cut.
	Status int
}

// Server is the fake. Its zero value is of no use; see New.
type Server struct {
	options Options
	mux     *http.ServeMux
	http    *httptest.Server
	faults  faults

	mu       sync.Mutex
	content  content
	requests []Request
}

// New starts a fake without any content on a port of its own. Close ends it.
func New(o Options) *Server {
	if o.TokenLifetime == 0 {
		o.TokenLifetime = time.Hour
	}
	if o.MaxRoutes == 0 {
		o.MaxRoutes = 30
	}
	if o.PageSize == 0 {
		o.PageSize = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux(), content: newContent()}
	s.routes()
	s.http = httptest.NewServer(s)
	return s
}

// Close ends the fake and all connections to it.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// AuthURL is the URL of Keystone.
func (s *Server) AuthURL() string { return s.http.URL + identityRoot + "/v3" }

// Handler is the fake without its listener, to be served otherwise, for instance with TLS.
func (s *Server) Handler() http.Handler { return s }

// Requests returns all requests since the last call, and forgets them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.requests
	s.requests = nil
	return seen
}

// routes gives each path its handler. What is not here is not found, as in a service without it.
func (s *Server) routes() {
	for pattern, handler := range map[string]func(*call) *problem{
		"GET /identity/v3/":                                 s.identityVersion,
		"POST /identity/v3/auth/tokens":                     s.authenticate,
		"GET /network/{$}":                                  s.networkVersions,
		"GET /network/v2.0/extensions":                      s.listExtensions,
		"GET /network/v2.0/routers":                         s.listRouters,
		"GET /network/v2.0/routers/{id}":                    s.showRouter,
		"PUT /network/v2.0/routers/{id}":                    s.updateRouter,
		"PUT /network/v2.0/routers/{id}/add_extraroutes":    s.addRoutes,
		"PUT /network/v2.0/routers/{id}/remove_extraroutes": s.removeRoutes,
		"GET /network/v2.0/ports":                           s.listPorts,
		"GET /network/v2.0/networks":                        s.listNetworks,
		"GET /network/v2.0/subnets":                         s.listSubnets,
		"GET /network/v2.0/floatingips":                     s.listFloatingIPs,
		"GET /compute/v2.1/{$}":                             s.computeVersion,
		"GET /compute/v2.1/servers/detail":                  s.listServers,
		"GET /compute/v2.1/servers/{id}":                    s.showServer,
	} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, handler) })
	}
}

// ServeHTTP answers a request, or fails as a fault says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http sees that a client went away only when the body is read.
	data, _ := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	r.Body = io.NopCloser(bytes.NewReader(data))
	fault := s.faults.next(r.Method, r.URL.Path)
	if fault.Do != nil {
		fault.Do()
	}
	if fault.Latency > 0 {
		wait(r, fault.Latency)
	}
	if fault.Cut == CutRequest {
		s.note(r, 0)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	answer := httptest.NewRecorder()
	if fault.Status != 0 {
		for name, value := range fault.Header {
			answer.Header().Set(name, value)
		}
		answer.WriteHeader(fault.Status)
		_, _ = io.WriteString(answer, fault.Body)
	} else {
		s.mux.ServeHTTP(answer, r)
	}
	if fault.Cut == CutAnswer {
		s.note(r, 0)
		panic(http.ErrAbortHandler)
	}
	s.note(r, answer.Code)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// wait takes its time, unless the client goes away.
func wait(r *http.Request, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.Context().Done():
	case <-t.C:
	}
}

func (s *Server) note(r *http.Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, UserAgent: r.UserAgent(), Status: status})
}
