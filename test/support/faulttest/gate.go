// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Request is what a process requested of a system.
type Request struct {
	// Verb is "get", "apply status" and the like, or the method of HTTP. Object is what it is about.
	Verb, Object string
	// Write reports whether it is to change something.
	Write bool
	// Process is the number of the process that sent it, from 0.
	Process int
	// Deposed reports whether the process had lost its Lease before.
	Deposed bool
	// Reached reports whether the system got it, and Err is what the system responded.
	Reached bool
	Err     error
	// Intended is the UID that a deletion has as its precondition, and Hit that of the object that it deleted.
	Intended, Hit string

	// object reports whether it is about an object of Kubernetes.
	object bool
	// cached reports whether the process has a cache that can be frozen.
	cached bool
	// recreate replaces the object by one of another client.
	recreate func()
}

// String returns the request as a log has it.
func (r *Request) String() string {
	text := r.Verb + " " + r.Object
	switch {
	case !r.Reached:
		text += ": did not arrive"
	case r.Err != nil:
		text += ": " + r.Err.Error()
	}
	return fmt.Sprintf("process %d: %s", r.Process, text)
}

// Gate is between a process and all systems, and lets one request fail. It is safe for concurrent use.
type Gate struct {
	fault Fault
	at    int

	mu sync.Mutex
	// armed is set when the world is ready: the requests that made it do not count.
	armed, hit, ended, deposed bool
	process                    int
	cancel                     context.CancelFunc
	log                        []Request
	strangers                  []stranger
	// freeze is called at the request that Frozen or Uneven is about.
	freeze func(all bool)
	// frozen counts the steps since.
	frozen int
}

// newGate returns one that fails the request with a number, from 0.
func newGate(fault Fault, at int) *Gate { return &Gate{fault: fault, at: at} }

// Process returns the number of the process that runs now. A process of before cannot send requests any more.
func (g *Gate) Process() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.process
}

// Fence reports to a process, before it writes, that it has lost its Lease.
func (g *Gate) Fence() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended || g.deposed {
		return errors.New("the Lease is lost")
	}
	return nil
}

// Do sends a request of a process, or lets it fail. send is what the system does.
func (g *Gate) Do(r Request, process int, send func() error) error {
	i, fault, err := g.enter(&r, process)
	if err != nil {
		return err
	}
	if fault == KilledBefore {
		g.end()
	}
	if fault.prevents() {
		return fault.err(&r)
	}
	if fault == Recreated && r.recreate != nil {
		r.recreate()
	}
	g.age(fault)
	err = send()
	g.leave(i, fault, err)
	if failed := fault.err(&r); failed != nil {
		return failed
	}
	return err
}

// enter records a request, and returns its number and what happens to it.
func (g *Gate) enter(r *Request, process int) (number int, fault Fault, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.armed {
		return -1, none, nil
	}
	if g.ended || process != g.process {
		return -1, none, errEnded
	}
	r.Process, r.Deposed, r.cached = g.process, g.deposed, g.freeze != nil
	g.log = append(g.log, *r)
	number, fault = len(g.log)-1, none
	if number == g.at && g.fault != none {
		g.hit, fault = true, g.fault
	}
	return number, fault, nil
}

// leave records the response, and what the fault does to the process.
func (g *Gate) leave(number int, fault Fault, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if number >= 0 {
		recorded := &g.log[number]
		recorded.Reached, recorded.Err = true, err
	}
	switch fault {
	case KilledAfter:
		g.ended = true
		g.cancel()
	case Deposed:
		g.deposed = true
	}
}

func (g *Gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.cancel()
}

// arm lets requests count from now on.
func (g *Gate) arm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = true
}

// over reports whether the process has to be followed by another one.
func (g *Gate) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended || g.deposed
}

// begin starts the next process, whose context ends with it.
func (g *Gate) begin(ctx context.Context) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel()
		g.process++
	}
	g.ended, g.deposed = false, false
	ctx, g.cancel = context.WithCancel(ctx)
	return ctx
}

// age freezes the cache if that is the fault.
func (g *Gate) age(fault Fault) {
	if (fault == Frozen || fault == Uneven) && g.freeze != nil {
		g.freeze(fault == Frozen)
	}
}

// thaws counts a step, and reports whether the frozen cache is to catch up before it.
func (g *Gate) thaws() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ages() || g.frozen >= frozenFor {
		return false
	}
	g.frozen++
	return g.frozen == frozenFor
}

// isFrozen reports whether the cache is.
func (g *Gate) isFrozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ages() && g.frozen < frozenFor
}

// ages reports whether the fault has been one of the cache.
func (g *Gate) ages() bool { return g.hit && (g.fault == Frozen || g.fault == Uneven) }

// Log returns the requests until now.
func (g *Gate) Log() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.log)
}

// writes counts the writes until now that are not among the beats.
func (g *Gate) writes(beats func(*Request) bool) int {
	count := 0
	for _, r := range g.Log() {
		if r.Write && (beats == nil || !beats(&r)) {
			count++
		}
	}
	return count
}
