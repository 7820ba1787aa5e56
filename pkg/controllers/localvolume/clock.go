// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// dateGranularity is the granularity of the Date of a response: the clock of the API server is up to this much ahead of it.
const dateGranularity = time.Second

// ServerClock knows the clock of the API server, from the Date of its responses. It is the only clock that two processes share: what
// one of them records is not comparable to the clock of another machine. It also advances while this machine is suspended, when the
// monotonic clock of the process does not.
type ServerClock struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// date is the last Date, and at when it was received, by the clock of this process.
	date, at time.Time
}

// NewServerClock returns a clock that shows no time until the first response.
func NewServerClock(clock clock.PassiveClock) *ServerClock { return &ServerClock{clock: clock} }

// Observe takes over the Date of a response.
func (c *ServerClock) Observe(date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.date, c.at = date, c.clock.Now()
}

// Now returns the time of the API server, by its last response and what has passed since; it is behind by the granularity of a Date at
// most, unless the machine was suspended. The second result is false before the first response.
func (c *ServerClock) Now() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return time.Time{}, false
	}
	return c.date.Add(c.clock.Now().Sub(c.at)), true
}

// Client returns an HTTP client like another one that observes the Date of its responses.
func (c *ServerClock) Client(like *http.Client) *http.Client {
	observing := *like
	observing.Transport = &observer{clock: c, next: like.Transport}
	return &observing
}

type observer struct {
	clock *ServerClock
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(request *http.Request) (*http.Response, error) {
	next := o.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(request)
	if err == nil {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			o.clock.Observe(date)
		}
	}
	return response, err //nolint:wrapcheck // it is the transport's
}

// WrappedRoundTripper lets client-go find the transport.
func (o *observer) WrappedRoundTripper() http.RoundTripper { return o.next }

// moment is a moment by two clocks: that of the process, and that of the API server, which is zero if it is unknown.
type moment struct{ process, server time.Time }

func (s *Site) moment() moment {
	server, _ := s.ServerClock.Now()
	return moment{process: s.Clock.Now(), server: server}
}

// within reports whether less than a Lease has passed until a later moment, by both clocks. The clock of a process stands still while
// its machine is suspended, that of the API server does not.
func (m moment) within(later moment) bool { return m.until(later) < Lease }

// until returns how much time has passed until a later moment, by the clock that measured more.
func (m moment) until(later moment) time.Duration {
	passed := later.process.Sub(m.process)
	if !m.server.IsZero() && !later.server.IsZero() {
		passed = max(passed, later.server.Sub(m.server))
	}
	return passed
}

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
