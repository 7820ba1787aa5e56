// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
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

// Fault is something that fails with requests.
type Fault struct {
	// Method is the method of the requests, and Path what their path begins with; empty: any.
	Method, Path string
	// Skip is how many such requests go well first, Times how many fail then; 0: all.
	Skip, Times int
	// Do runs before the server checks the request: what others do in that moment. It may call all methods.
	Do func()
	// Latency is a pause before the server checks the request.
	Latency time.Duration
	// Status is the code to respond with instead, with Body and Header; 0: the server responds.
	Status int
	Body   string
	Header map[string]string
	// Cut is CutRequest or CutResponse; empty: the connection holds.
	Cut string
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

// next counts a request and returns the first fault that hits it.
func (f *faults) next(method, path string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.set {
		if c.Method != "" && c.Method != method || !strings.HasPrefix(path, c.Path) {
			continue
		}
		c.seen++
		if c.seen > c.Skip && (c.Times == 0 || c.seen <= c.Skip+c.Times) {
			return c.Fault
		}
	}
	return Fault{}
}

// Inject sets a fault, behind those that are set.
func (s *Server) Inject(f Fault) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.set = append(s.faults.set, &counted{Fault: f})
}

// Heal takes all faults away.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.set = nil
}
