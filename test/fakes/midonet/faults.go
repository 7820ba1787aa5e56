// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Where a Fault cuts the connection.
const (
	// CutRequest cuts before the server has done anything.
	CutRequest = "request"
	// CutResponse cuts when the server has done all of it: the client cannot know.
	CutResponse = "answer"
)

// Fault is something that fails with requests. Its zero value fails with none.
type Fault struct {
	// Method is the method of the requests; empty: any.
	Method string `json:"method,omitempty"`
	// Path is what the path of the requests begins with, below the root, for instance /chains; empty: any.
	Path string `json:"path,omitempty"`
	// Skip is how many such requests go well first.
	Skip int `json:"skip,omitempty"`
	// Times is how many fail then; 0: all.
	Times int `json:"times,omitempty"`
	// Latency is a pause before the server checks the request.
	Latency time.Duration `json:"-"`
	// Status is the code to respond with instead, and Message the text; 0: the server responds.
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	// Cut is CutRequest or CutResponse; empty: the connection holds.
	Cut string `json:"cut,omitempty"`
	// Rewrite changes the body of a response that is no error, as another version of the server would; nil: it stays.
	Rewrite func(body []byte) []byte `json:"-"`
}

// fault is a Fault as JSON has it, with its latency as users write it: 5ms, 2s.
type fault struct {
	Fault
	Latency string `json:"latency,omitempty"`
}

// decodeFault reads a Fault as a person writes it.
func decodeFault(data []byte) (Fault, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var f fault
	if err := d.Decode(&f); err != nil {
		return Fault{}, fmt.Errorf("fault: %w", err)
	}
	if f.Latency != "" {
		latency, err := time.ParseDuration(f.Latency)
		if err != nil || latency < 0 {
			return Fault{}, fmt.Errorf("fault: latency: %q is not a duration like 5ms", f.Latency)
		}
		f.Fault.Latency = latency
	}
	return f.Fault, f.check()
}

func (f Fault) check() error {
	switch {
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("fault: status: %d must be from 200 to 599", f.Status)
	case f.Cut != "" && f.Cut != CutRequest && f.Cut != CutResponse:
		return fmt.Errorf("fault: cut: %q must be %q or %q", f.Cut, CutRequest, CutResponse)
	case f.Skip < 0 || f.Times < 0 || f.Latency < 0:
		return fmt.Errorf("fault: skip, times and latency must not be negative")
	case f.Path != "" && !strings.HasPrefix(f.Path, "/"):
		return fmt.Errorf("fault: path: %q must begin with /", f.Path)
	case f.Latency == 0 && f.Status == 0 && f.Cut == "" && f.Rewrite == nil:
		return fmt.Errorf("fault: needs latency, status or cut")
	default:
		return nil
	}
}

// faults are the faults that are set, each with the requests it has seen.
type faults struct {
	mu  sync.Mutex
	set []*counted
}

type counted struct {
	Fault
	seen int
}

// next counts a request and joins the faults that hit it: latencies add up, of the rest the first wins.
func (f *faults) next(method, path string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hit Fault
	for _, c := range f.set {
		if c.Method != "" && c.Method != method || !strings.HasPrefix(path, c.Path) {
			continue
		}
		c.seen++
		if c.seen <= c.Skip || c.Times > 0 && c.seen > c.Skip+c.Times {
			continue
		}
		hit.Latency += c.Latency
		if hit.Status == 0 && hit.Cut == "" {
			hit.Status, hit.Message, hit.Cut = c.Status, c.Message, c.Cut
		}
		if hit.Rewrite == nil {
			hit.Rewrite = c.Rewrite
		}
	}
	return hit
}

// Inject sets a fault, on top of those that are set.
func (s *Server) Inject(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.set = append(s.faults.set, &counted{Fault: f})
	return nil
}

// Heal takes all faults away.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.set = nil
}

// listFaults shows the faults as they can be set again.
func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	shown := []fault{}
	for _, c := range s.faults.set {
		f := fault{Fault: c.Fault}
		if c.Latency > 0 {
			f.Latency = c.Latency.String()
		}
		shown = append(shown, f)
	}
	page(w, shown)
}
