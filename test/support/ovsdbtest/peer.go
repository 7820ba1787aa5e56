// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovsdbtest is the other end of a connection to an OVSDB (RFC 7047), inside a test.
package ovsdbtest

import (
	"encoding/json"
	"net"
	"slices"
	"sync"
	"testing"
)

// Respond returns the result of a request, or an error in the protocol's form. A silent request gets no response.
type Respond func(method string, params []json.RawMessage) (result, failure any, silent bool)

// Peer is a server whose responses a test chooses.
type Peer struct {
	listener net.Listener
	respond  Respond
	// Echoes are what was received in response to requests of the peer.
	Echoes chan json.RawMessage

	mu      sync.Mutex
	methods []string
	open    []net.Conn
}

// New listens on loopback, by way of what the functions make of the listener, until the test ends.
func New(t testing.TB, respond Respond, wrap ...func(net.Listener) net.Listener) *Peer {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrap {
		listener = w(listener)
	}
	p := &Peer{listener: listener, respond: respond, Echoes: make(chan json.RawMessage, 10)}
	t.Cleanup(func() {
		_ = listener.Close()
		p.Drop()
	})
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open = append(p.open, connection)
			p.mu.Unlock()
			go p.serve(connection)
		}
	}()
	return p
}

func (p *Peer) serve(connection net.Conn) {
	decoder := json.NewDecoder(connection)
	for {
		var m struct {
			Method string            `json:"method"`
			Params []json.RawMessage `json:"params"`
			ID     json.RawMessage   `json:"id"`
			Result json.RawMessage   `json:"result"`
		}
		if decoder.Decode(&m) != nil {
			return
		}
		if m.Method == "" {
			p.Echoes <- m.Result
			continue
		}
		p.mu.Lock()
		p.methods = append(p.methods, m.Method)
		p.mu.Unlock()
		if result, failure, silent := p.respond(m.Method, m.Params); !silent {
			p.send(connection, map[string]any{"id": m.ID, "result": result, "error": failure})
		}
	}
}

func (p *Peer) send(to net.Conn, m any) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = to.Write(data)
}

// Notify sends a notification, or a request with an id, to the newest connection.
func (p *Peer) Notify(id any, method string, params ...any) {
	p.mu.Lock()
	newest := p.open[len(p.open)-1]
	p.mu.Unlock()
	p.send(newest, map[string]any{"id": id, "method": method, "params": params})
}

// Drop closes all connections.
func (p *Peer) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range p.open {
		_ = connection.Close()
	}
}

// Received counts the requests of a method.
func (p *Peer) Received(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(p.methods), func(m string) bool { return m != method }))
}

// Endpoint is where it listens, as clients configure it.
func (p *Peer) Endpoint() string { return "tcp:" + p.listener.Addr().String() }

// Database is the name of the database that a Member has.
const Database = "db"

// Member responds like a member of a cluster, or its leader, to transactions with one empty result.
func Member(leader bool) Respond {
	return func(method string, _ []json.RawMessage) (any, any, bool) {
		switch method {
		case "monitor_cond":
			row := map[string]any{"name": Database, "connected": true}
			if leader { // a server omits columns that have their default
				row["leader"] = true
			}
			return map[string]any{"Database": map[string]any{"3f1b2c4d-0000-4000-8000-000000000001": map[string]any{"initial": row}}}, nil, false
		case "transact":
			return []any{map[string]any{"count": 1}}, nil, false
		case "echo":
			return []any{"probe"}, nil, false
		default:
			return nil, "unknown method", false
		}
	}
}
