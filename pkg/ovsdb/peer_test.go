// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"encoding/json"
	"net"
	"slices"
	"sync"
	"testing"
)

// peer is a server whose responses a test chooses.
type peer struct {
	listener net.Listener
	// respond returns the result of a request, or an error; silent requests get no response.
	respond func(method string, params []json.RawMessage) (result, failure any, silent bool)

	mu      sync.Mutex
	methods []string
	// echoes are what was received in response to requests of the peer.
	echoes chan json.RawMessage
	open   []net.Conn
}

// newPeer listens on loopback.
func newPeer(t *testing.T, respond func(method string, params []json.RawMessage) (result, failure any, silent bool)) *peer {
	t.Helper()
	return newPeerOn(t, func(listener net.Listener) net.Listener { return listener }, respond)
}

// newPeerOn listens on loopback by way of what the function makes of the listener.
func newPeerOn(t *testing.T, wrap func(net.Listener) net.Listener, respond func(method string, params []json.RawMessage) (result, failure any, silent bool)) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener = wrap(listener)
	p := &peer{listener: listener, respond: respond, echoes: make(chan json.RawMessage, 10)}
	t.Cleanup(func() {
		_ = listener.Close()
		p.drop()
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

func (p *peer) serve(connection net.Conn) {
	decoder := json.NewDecoder(connection)
	for {
		var m struct {
			message
			Params []json.RawMessage `json:"params"`
		}
		if decoder.Decode(&m) != nil {
			return
		}
		if m.Method == "" {
			p.echoes <- m.Result
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

func (p *peer) send(to net.Conn, m any) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = to.Write(data)
}

// notify sends to the newest connection.
func (p *peer) notify(id any, method string, params ...any) {
	p.mu.Lock()
	newest := p.open[len(p.open)-1]
	p.mu.Unlock()
	p.send(newest, map[string]any{"id": id, "method": method, "params": params})
}

// drop closes all connections.
func (p *peer) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range p.open {
		_ = connection.Close()
	}
}

func (p *peer) received(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(p.methods), func(m string) bool { return m != method }))
}

func (p *peer) endpoint(t *testing.T) Endpoint {
	t.Helper()
	e, err := ParseEndpoint("tcp:" + p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// member responds like a member of a cluster, to transactions with one empty result.
func member(leader bool) func(string, []json.RawMessage) (any, any, bool) {
	return func(method string, _ []json.RawMessage) (any, any, bool) {
		switch method {
		case "monitor_cond":
			row := map[string]any{"name": "db", "connected": true}
			if leader { // a server omits columns that have their default
				row["leader"] = true
			}
			return map[string]any{"Database": map[string]any{switchA: map[string]any{"initial": row}}}, nil, false
		case "transact":
			return []any{map[string]any{"count": 1}}, nil, false
		case "echo":
			return []any{"probe"}, nil, false
		default:
			return nil, "unknown method", false
		}
	}
}
