// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package serverstate

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Server is one that may be running.
type Server struct {
	Name string
	State
	// Proven is set if the State was renewed since it was first observed. Without that, it may be of a server that was killed before.
	Proven bool
}

// Observer determines which servers run, by the changes that it observes. It never compares clocks of two machines.
type Observer struct {
	clock clock.PassiveClock
	seen  map[string]sighting
}

// sighting is the last change of a State.
type sighting struct {
	Server
	at time.Time
}

// NewObserver returns an observer that has observed nothing.
func NewObserver(clock clock.PassiveClock) *Observer {
	return &Observer{clock: clock, seen: map[string]sighting{}}
}

// Observe returns the servers whose State has changed within the expiry, in the order of their names. It is not safe for concurrent use.
func (o *Observer) Observe(states map[string]State) []Server {
	now := o.clock.Now()
	for name := range o.seen {
		if _, ok := states[name]; !ok {
			delete(o.seen, name)
		}
	}
	var live []Server
	for name, state := range states {
		before, known := o.seen[name]
		if !known || !before.Renewed.Equal(&state.Renewed) || before.ProjectAuthorization != state.ProjectAuthorization {
			o.seen[name] = sighting{Server{name, state, known}, now}
		}
		if current := o.seen[name]; now.Sub(current.at) < Expiry {
			live = append(live, current.Server)
		}
	}
	slices.SortFunc(live, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return live
}

// discarded returns the servers whose State has not changed for so long that they do not run any more.
func (o *Observer) discarded() (names []string) {
	for name, server := range o.seen {
		if o.clock.Since(server.at) >= discardAfter {
			names = append(names, name)
		}
	}
	return names
}
