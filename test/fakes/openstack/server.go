// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Paths that the services are under.
const (
	identityRoot = "/identity"
	networkRoot  = "/network"
	computeRoot  = "/compute/v2.1"
	volumeRoot   = "/volume/v3"
	balancerRoot = "/load-balancer"
)

// Region is the region of all endpoints, unless Options specify otherwise.
const Region = "RegionOne"

// bodyLimit is the most that a request may hold, in bytes.
const bodyLimit = 1 << 20

// Options specify how the fake behaves.
type Options struct {
	// TokenLifetime is how long a token is good for; 0: an hour.
	TokenLifetime time.Duration
	// MaxRoutes is how many routes a router may have; 0: 30, as in Neutron.
	MaxRoutes int
	// PageSize is how many servers, ports, volumes, snapshots or things of Octavia a page has; 0: 1000.
	PageSize int
	// Delay is how long Cinder and Octavia take for what they do behind a response. 0: it is done at the next request; less than 0:
	// not before Settle.
	Delay time.Duration
	// Region is the region of the endpoints; "": Region. With a Keystone, the fake is another region of that one's cloud: it has no
	// users, takes the tokens of that Keystone, and is in its catalog.
	Region   string
	Keystone *Server
	// Without are types of services that the catalog does not have, as load-balancer.
	Without []string
	// NoAtomicRoutes takes the extension extraroute-atomic away, NoRevisions the revision numbers.
	NoAtomicRoutes, NoRevisions bool
	// NoGroupFilter takes the extension port-security-groups-filtering away, and the filter with it.
	NoGroupFilter bool
	// Now is the clock of the tokens and of Delay; nil: the real one.
	Now func() time.Time
	// Listener is what it serves on; nil: a free port of loopback.
	Listener net.Listener
	// Wrap returns what is served instead of the fake, and that may pass requests to it; nil: the fake.
	Wrap func(http.Handler) http.Handler
}

// Request is one that arrived.
type Request struct {
	Method, Path, Query string
	UserAgent           string
	// Status is the code of the response, 0 when the connection was cut.
	Status int
}

// Server is the fake. Create it with New.
type Server struct {
	options Options
	mux     *http.ServeMux
	manual  *http.ServeMux // pages
	http    *httptest.Server
	faults  faults

	mu       sync.Mutex
	content  content
	requests []Request
	// regions are the other regions of the cloud.
	regions []*Server
}

// New starts a fake without any content on a dedicated port, or on that of the options. Close ends it.
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
	if o.Region == "" {
		o.Region = Region
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux(), content: newContent()}
	s.manual = s.pages()
	for _, paths := range []map[string]func(*call) *problem{
		s.identityPaths(), s.networkPaths(), s.computePaths(), s.volumePaths(), s.sharePaths(), s.balancerPaths(),
	} {
		for pattern, handler := range paths {
			s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, handler) })
		}
	}
	var served http.Handler = s
	if o.Wrap != nil {
		served = o.Wrap(s)
	}
	s.http = httptest.NewUnstartedServer(served)
	if o.Listener != nil {
		_ = s.http.Listener.Close()
		s.http.Listener = o.Listener
	}
	s.http.Start()
	if k := o.Keystone; k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.regions = append(k.regions, s)
	}
	return s
}

// Close ends the fake and all connections to it.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// AuthURL returns the URL of Keystone.
func (s *Server) AuthURL() string { return s.http.URL + identityRoot + "/v3" }

// Handler returns the fake without its listener, to be served otherwise, for instance with TLS.
func (s *Server) Handler() http.Handler { return s }

// Requests returns all requests since the last call, and discards them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.requests
	s.requests = nil
	return seen
}

// ServeHTTP responds to a request, or fails as a fault specifies.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, PagesRoot) {
		s.manual.ServeHTTP(w, r)
		return
	}
	// net/http detects a closed connection only when the body is read.
	data, _ := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.URL.Path = canonical(r.URL.Path)
	fault := s.faults.next(r.Method, r.URL.Path)
	if fault.Do != nil {
		fault.Do()
	}
	if fault.Latency > 0 {
		wait(r, fault.Latency)
	}
	if fault.Cut == CutRequest {
		s.note(r, 0)
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
	response := httptest.NewRecorder()
	if fault.Status != 0 {
		for name, value := range fault.Header {
			response.Header().Set(name, value)
		}
		response.WriteHeader(fault.Status)
		_, _ = io.WriteString(response, fault.Body)
	} else {
		s.mux.ServeHTTP(response, r)
	}
	if fault.Cut == CutResponse {
		s.note(r, 0)
		panic(http.ErrAbortHandler)
	}
	s.note(r, response.Code)
	for name, values := range response.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes())
}

// canonical returns the one of several spellings of a path that has a handler: Octavia knows its version by two names, and
// minds no slash at the end.
func canonical(path string) string {
	if rest, ok := strings.CutPrefix(path, balancerRoot+"/v2/"); ok {
		path = balancerRoot + "/v2.0/" + rest
	}
	if strings.HasPrefix(path, balancerRoot+"/v2.0/") {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// wait takes its time, unless the client is deleted.
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
