// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package coalesce makes connections send small writes that come one behind the other together.
//
// HTTP/2 (golang.org/x/net/http2) writes the headers of an answer, and then its body. A change that many watches of a connection
// are told of is one write for each of them. Each is a record of TLS and a system call, here and for the peer: a twentieth of
// what a read of one object takes, a fifth of what a change to 200 watches takes. Here a write returns at once, and another
// goroutine makes it, together with all that was written before it had its turn. It does not wait for more to come, so that no
// answer is later for it.
package coalesce

import (
	"net"
	"sync"
	"time"
)

// keepAlive is how often an idle peer is asked whether it is still there: the library's own period, which it sets for
// connections of TCP only.
const keepAlive = 3 * time.Minute

// Listener returns a listener whose connections coalesce writes.
func Listener(l net.Listener) net.Listener { return listener{l, &shutdown{}} }

type listener struct {
	net.Listener
	shutdown *shutdown
}

// Close implements net.Listener. It comes first when a server shuts down.
func (l listener) Close() error {
	l.shutdown.begin()
	return l.Listener.Close()
}

// shutdown is the end of a server. net/http closes its connections one after the other then, so that one time to linger for
// each would add up: a thousand peers that do not read any more would hold up the server for more than an hour.
type shutdown struct {
	mu    sync.Mutex
	begun bool
	until time.Time
}

func (s *shutdown) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// limit is when a connection that ends now stops to linger: all that end during a shutdown stop when the first does.
func (s *shutdown) limit() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := time.Now().Add(linger)
	switch {
	case !s.begun:
		return own
	case s.until.IsZero():
		s.until = own
	}
	return s.until
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlive)
	}
	return newConn(c, l.shutdown), nil
}
