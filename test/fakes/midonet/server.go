// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Root is the path that the API is under, as on the real server.
const Root = "/midonet-api"

// Options specify how the fake behaves.
type Options struct {
	// Username, Password and Project are what a login must have. Without a user name no request needs a token; without
	// a project any will do.
	Username, Password, Project string
	// TokenLifetime is how long a token is good for; 0: an hour.
	TokenLifetime time.Duration
	// Now is the clock of the tokens; nil: the real one.
	Now func() time.Time
}

// Server is the fake. Create it with New.
type Server struct {
	options Options
	api     *http.ServeMux
	admin   *http.ServeMux
	faults  faults
	wait    func(context.Context, time.Duration)

	mu     sync.Mutex
	store  *store
	tokens map[string]time.Time // token → its end
	counts map[Count]int
	failed []Rejection
}

// New makes a fake without any content.
func New(o Options) *Server {
	if o.TokenLifetime == 0 {
		o.TokenLifetime = time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, store: newStore(), tokens: map[string]time.Time{}, counts: map[Count]int{}, wait: wait}
	s.api = s.routes()
	s.admin = s.pages()
	return s
}

// wait takes its time, unless the client is deleted.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// ServeHTTP responds to a request of the API or of the pages.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, Root)
	if !ok {
		s.admin.ServeHTTP(w, r)
		return
	}
	// net/http detects a closed connection only when the body is read.
	data, _ := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	r.Body = io.NopCloser(bytes.NewReader(data))
	fault := s.faults.next(r.Method, path)
	if fault.Latency > 0 {
		s.wait(r.Context(), fault.Latency)
		if r.Context().Err() != nil {
			s.count(r, path, 0)
			panic(http.ErrAbortHandler)
		}
	}
	if fault.Cut == CutRequest {
		s.count(r, path, 0)
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
	response := httptest.NewRecorder()
	if fault.Status != 0 {
		writeProblem(response, reject(fault.Status, "%s", fault.Message))
	} else {
		http.StripPrefix(Root, http.HandlerFunc(s.serveAPI)).ServeHTTP(response, r)
	}
	s.count(r, path, response.Code)
	if response.Code >= 400 {
		s.note(r, path, response)
	}
	if fault.Cut == CutResponse {
		panic(http.ErrAbortHandler)
	}
	for name, values := range response.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(response.Code)
	body := response.Body.Bytes()
	if fault.Rewrite != nil && response.Code/100 == 2 {
		body = fault.Rewrite(body)
	}
	_, _ = w.Write(body)
}

// serveAPI checks the token and hands on. The response of the mux itself about paths and methods gets MidoNet's form.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/login" {
		if p := s.authorize(r); p != nil {
			writeProblem(w, p)
			return
		}
	}
	handler, pattern := s.api.Handler(r)
	if pattern != "" {
		s.api.ServeHTTP(w, r)
		return
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, r)
	writeProblem(w, reject(response.Code, "%s", http.StatusText(response.Code)))
}

// problem is a rejection.
type problem struct {
	status  int
	message string
}

func reject(status int, format string, args ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, args...)}
}

// writeProblem responds in the form of the server: {"message", "code"}.
func writeProblem(w http.ResponseWriter, p *problem) {
	w.Header().Set("Content-Type", vendor("Error-v1"))
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"message": p.message, "code": p.status})
}

// vendor returns a media type of MidoNet.
func vendor(name string) string { return "application/vnd.org.midonet." + name + "+json" }
