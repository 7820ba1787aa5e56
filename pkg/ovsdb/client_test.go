// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/test/support/ovsdbtest"
)

func connect(t *testing.T, o Options) *Client {
	t.Helper()
	o.Database = ovsdbtest.Database
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func endpointOf(t *testing.T, p *ovsdbtest.Peer) Endpoint {
	t.Helper()
	e, err := ParseEndpoint(p.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestParseEndpoint(t *testing.T) {
	for text, problem := range map[string]string{
		"tcp:127.0.0.1:6641": "", "ssl:[2001:db8::1]:6641": "", "unix:/run/ovn/ovnnb_db.sock": "",
		"tcp:host": "must have a host and a port", "tcp::6641": "must have a host", "unix:run.sock": "absolute path", "udp:a:1": "must begin with", "": "must begin with",
	} {
		e, err := ParseEndpoint(text)
		if problem == "" && (err != nil || e.String() != text) || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%q: %v, %v; want the error %q", text, e, err, problem)
		}
	}
}

// TestClientUsesTheLeader checks that the leader of a cluster is used, whatever its position in the list, and another one when the
// leader changes.
func TestClientUsesTheLeader(t *testing.T) {
	var second atomic.Bool
	first := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		return ovsdbtest.Member(!second.Load())(method, params)
	})
	other := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		return ovsdbtest.Member(second.Load())(method, params)
	})
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = unused.Close()
	closed, _ := ParseEndpoint("tcp:" + unused.Addr().String())
	c := connect(t, Options{Endpoints: []Endpoint{closed, endpointOf(t, other), endpointOf(t, first)}})
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Fatal(err)
	}
	if first.Received("transact") != 1 || other.Received("transact") != 0 {
		t.Fatal("the transaction did not go to the leader")
	}
	ended := c.current.ended
	second.Store(true)
	first.Notify(nil, "update2", roleMonitor, map[string]any{"Database": map[string]any{switchA: map[string]any{"modify": map[string]any{"leader": false}}}})
	<-ended
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Fatal(err)
	}
	if other.Received("transact") != 1 {
		t.Error("the transaction did not go to the new leader")
	}
	if c.Close(); !c.isClosed() {
		t.Error("the connection is open after Close")
	}
}

// isClosed reports whether there is no connection.
func (c *Client) isClosed() bool { return c.current == nil }

// TestClientWithoutLeader checks that, without a leader, the error names each endpoint and its problem, and is cached briefly.
func TestClientWithoutLeader(t *testing.T) {
	follower := ovsdbtest.New(t, ovsdbtest.Member(false))
	stranger := ovsdbtest.New(t, func(method string, _ []json.RawMessage) (any, any, bool) {
		switch method {
		case "list_dbs":
			return nil, "not today", false
		default:
			return nil, map[string]string{"error": "unknown database"}, false
		}
	})
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, follower), endpointOf(t, stranger)}})
	for range 2 {
		_, err := c.Transact(t.Context(), Delete("T"))
		if err == nil || !strings.Contains(err.Error(), "is not the leader") || !strings.Contains(err.Error(), "list_dbs: not today") {
			t.Errorf("error = %v, want one that names both servers", err)
		}
		if CodeOf(err) != "" {
			t.Errorf("code = %q: what connecting failed with must not be taken for the response to a transaction", CodeOf(err))
		}
	}
	if n := follower.Received("monitor_cond"); n != 1 {
		t.Errorf("%d attempts to connect, want 1", n)
	}
}

// TestClientOfOldServer checks that a server without the database _Server is used as a standalone one.
func TestClientOfOldServer(t *testing.T) {
	old := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		switch method {
		case "list_dbs":
			return []string{"other", "db"}, nil, false
		case "transact":
			return ovsdbtest.Member(true)(method, params)
		default:
			return nil, map[string]string{"error": "unknown database", "details": "no such database"}, false
		}
	})
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, old)}})
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Error(err)
	}
	absent, err := New(Options{Endpoints: []Endpoint{endpointOf(t, old)}, Database: "absent"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := absent.Schema(t.Context()); err == nil || !strings.Contains(err.Error(), "does not have the database absent") {
		t.Errorf("error = %v, want that the database is absent", err)
	}
}

func TestClientRepliesToProbes(t *testing.T) {
	p := ovsdbtest.New(t, ovsdbtest.Member(true))
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}})
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Fatal(err)
	}
	p.Notify("echo", "echo", "x", 1)
	if reply := within(t, p.Echoes); string(reply) != `["x",1]` {
		t.Errorf("reply = %s, want what was sent", reply)
	}
}

// TestClientProbes checks that the connection to a silent server is closed, and that to one that responds to probes is not.
func TestClientProbes(t *testing.T) {
	var silent atomic.Bool
	probed := make(chan struct{}, 100)
	p := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		if method == "echo" {
			probed <- struct{}{}
		}
		result, failure, _ := ovsdbtest.Member(true)(method, params)
		return result, failure, silent.Load()
	})
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}, Probe: 20 * time.Millisecond})
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		within(t, probed)
	}
	ended := c.current.ended
	silent.Store(true)
	within(t, ended)
}

// TestClientSurvivesServers checks that a call ends with its timeout or with the connection, and that the next one uses a new
// connection.
func TestClientSurvivesServers(t *testing.T) {
	var silent atomic.Bool
	arrived := make(chan struct{}, 10)
	p := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		result, failure, _ := ovsdbtest.Member(true)(method, params)
		if method == "transact" && silent.Load() {
			arrived <- struct{}{}
			return nil, nil, true
		}
		return result, failure, false
	})
	var codes []string
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}, Observe: func(_, code string, _ time.Duration) { codes = append(codes, code) }})
	silent.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := c.Transact(ctx, Delete("T")); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the context", err)
	}
	go func() {
		<-arrived
		p.Drop()
	}()
	if _, err := c.Transact(t.Context(), Delete("T")); err == nil || !strings.Contains(err.Error(), "the connection ended") {
		t.Errorf("error = %v, want that of the connection", err)
	}
	silent.Store(false)
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Error(err)
	}
	if strings.Join(codes, ",") != "none,none," {
		t.Errorf("codes = %q, want none, none and that of success", codes)
	}
}

// TestClientOfStrangeServer checks that responses that cannot be parsed are errors, and end neither the connection nor the process.
func TestClientOfStrangeServer(t *testing.T) {
	for name, tc := range map[string]struct {
		result, failure any
		text            string
	}{
		"no list":          {"x", nil, "is not understood"},
		"too few results":  {[]any{}, nil, "0 results for 1 operations"},
		"rejected":         {nil, "syntax error", "transact: syntax error"},
		"rejected, object": {nil, map[string]string{"error": "unknown database", "details": "Not here."}, "transact: unknown database: Not here"},
		"operation":        {[]any{map[string]string{"error": "aborted"}}, nil, "aborted"},
		"commit":           {[]any{nil, map[string]string{"error": "constraint violation", "details": "Twice."}}, nil, "constraint violation: Twice"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
				if method == "transact" {
					return tc.result, tc.failure, false
				}
				return ovsdbtest.Member(true)(method, params)
			})
			c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}})
			if _, err := c.Transact(t.Context(), Delete("T")); err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error = %v, want %q", err, tc.text)
			}
		})
	}
}

// TestMonitorContinues checks that a monitor continues after the last observed transaction, and that the caller is notified if
// changes may have been missed.
func TestMonitorContinues(t *testing.T) {
	requested := make(chan string, 10)
	known := true
	p := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		if method != "monitor_cond_since" {
			return ovsdbtest.Member(true)(method, params)
		}
		var last string
		_ = json.Unmarshal(params[3], &last)
		requested <- last
		if last == noTransaction {
			return []any{false, "t1", map[string]any{}}, nil, false
		}
		return []any{known, "t3", map[string]any{"T": map[string]any{switchB: map[string]any{"delete": nil}}}}, nil, false
	})
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}})
	changes, missed, ended := make(chan Change, 10), make(chan struct{}, 10), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- c.Monitor(ctx, Watched{"T": {"c"}}, func(all []Change) { changes <- all[0] }, func() { missed <- struct{}{} })
	}()
	if last := within(t, requested); last != noTransaction {
		t.Errorf("requested the changes since %q, want none", last)
	}
	within(t, missed)
	var id string
	c.mu.Lock()
	for id = range c.monitors {
	}
	c.mu.Unlock()
	p.Notify(nil, "update3", id, "t2", map[string]any{"T": map[string]any{switchA: map[string]any{"insert": map[string]any{"c": 1}}}})
	if change := within(t, changes); change.ID != switchA || string(change.Row["c"]) != "1" {
		t.Errorf("change = %+v, want the insertion", change)
	}
	p.Drop()
	if last := within(t, requested); last != "t2" {
		t.Errorf("requested the changes since %q, want t2", last)
	}
	if change := within(t, changes); change.ID != switchB || !change.Deleted {
		t.Errorf("change = %+v, want the deletion", change)
	}
	cancel()
	if err := within(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the monitor ended with %v, want the error of the context", err)
	}
	if len(missed) != 0 {
		t.Error("changes were reported as missed, although the server knew all")
	}
}

// TestMonitorOfOldServer checks that monitor_cond is used with a server that lacks monitor_cond_since.
func TestMonitorOfOldServer(t *testing.T) {
	p := ovsdbtest.New(t, ovsdbtest.Member(true))
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, p)}})
	missed := make(chan struct{}, 1)
	go func() {
		_ = c.Monitor(t.Context(), Watched{"T": {"c"}}, func([]Change) {}, func() { missed <- struct{}{} })
	}()
	within(t, missed)
	if n := p.Received("monitor_cond"); n != 2 { // one is that of the role
		t.Errorf("%d requests for monitor_cond, want 2", n)
	}
}

// TestSchemaIsAccepted checks that an endpoint whose schema is not accepted gets no transaction, and that the reason is returned.
func TestSchemaIsAccepted(t *testing.T) {
	var version atomic.Value
	version.Store("1.0.0")
	server := ovsdbtest.New(t, func(method string, params []json.RawMessage) (any, any, bool) {
		if method == "get_schema" {
			return map[string]any{"name": "db", "version": version.Load(), "tables": map[string]any{}}, nil, false
		}
		return ovsdbtest.Member(true)(method, params)
	})
	c := connect(t, Options{Endpoints: []Endpoint{endpointOf(t, server)}, Accept: func(schema Schema) error {
		if schema.Version != "2.0.0" {
			return errors.New("version " + schema.Version + " is too old")
		}
		return nil
	}})
	if _, err := c.Transact(t.Context(), Delete("T")); err == nil || !strings.Contains(err.Error(), "version 1.0.0 is too old") {
		t.Errorf("error = %v, want that of the schema", err)
	}
	if got := server.Received("transact"); got != 0 {
		t.Errorf("transactions of a database that is not accepted = %d, want none", got)
	}
	version.Store("2.0.0")
	c.until = time.Time{} // of the failed attempt
	if _, err := c.Transact(t.Context(), Delete("T")); err != nil {
		t.Errorf("error after the upgrade = %v, want none", err)
	}
}
