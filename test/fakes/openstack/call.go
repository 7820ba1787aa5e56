// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// call is one request and what is known about the client.
type call struct {
	*http.Request
	response http.ResponseWriter
	body     map[string]any
	project  string
	admin    bool
}

// sees reports whether the client may see what a project owns.
func (c *call) sees(project string) bool { return c.admin || project == c.project }

// problem is a rejection.
type problem struct {
	status        int
	kind, message string
}

// serve checks the token, reads the body and runs a handler with the content locked.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, handler func(*call) *problem) {
	c := &call{Request: r, response: w}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Openstack-Request-Id", "req-"+uuid.NewString())
	s.advance()
	p := s.admit(c)
	if p == nil && r.ContentLength != 0 {
		if data, _ := io.ReadAll(r.Body); json.Unmarshal(data, &c.body) != nil {
			p = &problem{status: http.StatusBadRequest, kind: "HTTPBadRequest", message: "The server could not comply with the request since it is either malformed or otherwise incorrect."}
		}
	}
	if p == nil {
		p = handler(c)
	}
	if p != nil {
		w.WriteHeader(p.status)
		_ = json.NewEncoder(w).Encode(p.form(r.URL.Path))
	}
}

// form returns a rejection in the form of the service that the path belongs to.
func (p *problem) form(path string) any {
	switch {
	case p.status == http.StatusUnauthorized || strings.HasPrefix(path, identityRoot):
		return map[string]any{"error": map[string]any{"code": p.status, "message": p.message, "title": http.StatusText(p.status)}}
	case strings.HasPrefix(path, networkRoot):
		return map[string]any{"NeutronError": map[string]any{"type": p.kind, "message": p.message, "detail": ""}}
	case strings.HasPrefix(path, balancerRoot):
		return map[string]any{"faultcode": "Client", "faultstring": p.message, "debuginfo": nil}
	default:
		return map[string]any{p.kind: map[string]any{"code": p.status, "message": p.message}}
	}
}

// write responds with a code and a body of JSON.
func (c *call) write(status int, body any) *problem {
	c.response.WriteHeader(status)
	if err := json.NewEncoder(c.response).Encode(body); err != nil {
		panic(fmt.Sprintf("encode a response: %v", err)) // a mistake in the fake
	}
	return nil
}
