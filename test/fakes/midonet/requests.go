// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// Count reports about which requests a number is.
type Count struct {
	Method string `json:"method"`
	// Path is the path with * for each id, for instance /chains/*/rules.
	Path string `json:"path"`
	// Code is the response; 0: the connection was cut before there was one.
	Code int `json:"code"`
}

// Rejection is a request that was rejected.
type Rejection struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// rejectionLimit is how many rejections are kept, the last ones.
const rejectionLimit = 1000

// count notes a response. A latency that the client did not wait for counts as a cut.
func (s *Server) count(r *http.Request, path string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[Count{r.Method, withoutIDs(path), code}]++
}

// note keeps a rejection for users to read.
func (s *Server) note(r *http.Request, path string, response *httptest.ResponseRecorder) {
	var body struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(response.Body.Bytes(), &body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, Rejection{r.Method, path, response.Code, body.Message})
	if len(s.failed) > rejectionLimit {
		s.failed = slices.Delete(s.failed, 0, len(s.failed)-rejectionLimit)
	}
}

// withoutIDs makes one path of those that differ by ids only.
func withoutIDs(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if strings.ContainsAny(segment, "0123456789") {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

// Requests returns the requests since the start or the last ResetRequests.
func (s *Server) Requests() map[Count]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[Count]int, len(s.counts))
	for c, n := range s.counts {
		counts[c] = n
	}
	return counts
}

// Writes is how many requests tried to change something, logins not among them.
func (s *Server) Writes() int {
	writes := 0
	for c, n := range s.Requests() {
		if c.Method != http.MethodGet && c.Path != "/login" {
			writes += n
		}
	}
	return writes
}

// Rejections returns the last requests that were rejected, oldest first.
func (s *Server) Rejections() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed)
}

// ResetRequests counts from 0 and discards the rejections.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.counts)
	s.failed = nil
}

func (s *Server) listRequests(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		Count
		Requests int `json:"requests"`
	}
	rows := []row{}
	for c, n := range s.Requests() {
		rows = append(rows, row{c, n})
	}
	slices.SortFunc(rows, func(a, b row) int {
		if c := strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method); c != 0 {
			return c
		}
		return a.Code - b.Code
	})
	rejections := s.Rejections()
	if rejections == nil {
		rejections = []Rejection{}
	}
	page(w, map[string]any{"counts": rows, "refused": rejections})
}
