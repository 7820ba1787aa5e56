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
	"time"
)

// keepAlive is how often an idle peer is asked whether it is still there: the library's own period, which it sets for
// connections of TCP only.
const keepAlive = 3 * time.Minute

// Listener returns a listener whose connections coalesce writes.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlive)
	}
	return newConn(c), nil
}
