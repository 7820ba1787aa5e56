// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultTimeout = 4 * time.Second
	DefaultProbe   = 10 * time.Second
	// connectPause is how long an attempt that no endpoint accepted is remembered, so that many callers do not each connect.
	connectPause = 500 * time.Millisecond
)

// Options configure a Client.
type Options struct {
	// Endpoints are those of the servers with the database: one, or the members of a cluster.
	Endpoints []Endpoint
	// Database is its name, for instance OVN_Northbound.
	Database string
	// TLS is queried for each connection to an endpoint that is secure.
	TLS func() (*tls.Config, error)
	// Timeout ends a call. 0: DefaultTimeout.
	Timeout time.Duration
	// Probe is how long a connection may be silent before the server is probed. 0: DefaultProbe; negative: never.
	Probe time.Duration
	// Accept, if not nil, returns an error for a database that cannot be used because of its schema. It is called for each connection.
	Accept func(Schema) error
	// Observe gets the code of each response to a call, and how long it took: empty for success, none if there was no response.
	Observe func(method, code string, took time.Duration)
}

// Client is a client of one database. It is for many goroutines at a time.
type Client struct {
	options Options

	// turn is held by who connects. It is a channel so that waiting ends with a context.
	turn    chan struct{}
	current *connection
	place   int       // of the endpoint that is tried first
	failed  error     // of the last attempt to connect,
	until   time.Time // which is returned again for a moment

	mu       sync.Mutex
	monitors map[string]func(method string, params json.RawMessage)
}

// New makes a client. It does not connect.
func New(o Options) (*Client, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("ovsdb: no endpoint")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Probe == 0 {
		o.Probe = DefaultProbe
	}
	if o.Observe == nil {
		o.Observe = func(string, string, time.Duration) {}
	}
	for _, endpoint := range o.Endpoints {
		if endpoint.secure && o.TLS == nil {
			return nil, fmt.Errorf("ovsdb: %s needs a configuration of TLS", endpoint)
		}
	}
	return &Client{options: o, turn: make(chan struct{}, 1), monitors: map[string]func(string, json.RawMessage){}}, nil
}

// Close ends the connection. A later call makes another one.
func (c *Client) Close() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.current != nil {
		c.current.end(errors.New("it was closed"))
		c.current = nil
	}
}

// Transact carries all operations out, or none of them. What the server rejects is an *Error; after any other error the outcome is
// unknown.
func (c *Client) Transact(ctx context.Context, operations ...Operation) ([]Result, error) {
	params := make([]any, 0, len(operations)+1)
	params = append(params, c.options.Database)
	for _, operation := range operations {
		params = append(params, operation)
	}
	var results []Result
	err := c.observed("transact", func() error {
		data, err := c.call(ctx, "transact", params)
		if err != nil {
			return err
		}
		results, err = resultsOf(data, len(operations))
		return err
	})
	return results, err
}

// Schema returns the schema of the database as the server has it: the version, and the columns of each table with their types.
func (c *Client) Schema(ctx context.Context) (Schema, error) {
	var schema Schema
	err := c.observed("get_schema", func() (err error) {
		schema, err = schemaOf(func(method string, params any) (json.RawMessage, error) { return c.call(ctx, method, params) },
			c.options.Database)
		return err
	})
	return schema, err
}

// schemaOf requests the schema of a database.
func schemaOf(call func(method string, params any) (json.RawMessage, error), database string) (Schema, error) {
	data, err := call("get_schema", []any{database})
	if err != nil {
		return Schema{}, err
	}
	var schema Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return Schema{}, fmt.Errorf("get_schema: the response is not understood: %w", err)
	}
	return schema, nil
}

// Schema describes a database.
type Schema struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Tables  map[string]Table `json:"tables"`
}

// Table describes a table.
type Table struct {
	Columns map[string]Column `json:"columns"`
	// IsRoot reports that rows stay that no other row refers to.
	IsRoot bool `json:"isRoot"`
	// Indexes are the columns whose values are unique.
	Indexes [][]string `json:"indexes"`
}

// Column describes a column, its type in the notation of RFC 7047.
type Column struct {
	Type json.RawMessage `json:"type"`
}

// observed times a call.
func (c *Client) observed(method string, do func() error) error {
	started := time.Now()
	err := do()
	code := CodeOf(err)
	if err != nil && code == "" {
		code = "none"
	}
	c.options.Observe(method, code, time.Since(started))
	return err
}

// call sends a request over the current connection, or a new one.
func (c *Client) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	connection, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	return connection.call(ctx, method, params)
}

// connected returns the connection. One caller connects, the others wait for it.
func (c *Client) connected(ctx context.Context) (*connection, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to %s: %w", c.options.Database, ctx.Err())
	}
	if c.current != nil && !c.current.hasEnded() {
		return c.current, nil
	}
	if c.failed != nil && time.Now().Before(c.until) {
		return nil, c.failed
	}
	c.current = nil
	var errs []error
	for i := range c.options.Endpoints {
		place := (c.place + i) % len(c.options.Endpoints)
		connection, err := c.connect(ctx, c.options.Endpoints[place])
		if err == nil {
			c.current, c.place, c.failed = connection, place, nil
			return connection, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", c.options.Endpoints[place], err))
	}
	// Not wrapped: the response to a request of connecting is none to the caller's.
	err := fmt.Errorf("connect to %s: %s", c.options.Database, joined(errs))
	if ctx.Err() == nil {
		c.failed, c.until = err, time.Now().Add(connectPause)
	}
	return nil, err
}

// joined returns the messages of errors in one line.
func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// connect connects to one endpoint, if it can be used.
func (c *Client) connect(ctx context.Context, endpoint Endpoint) (*connection, error) {
	// One that does not respond must leave time for the others.
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout/time.Duration(len(c.options.Endpoints)))
	defer cancel()
	transport, err := endpoint.dial(ctx, c.options.TLS)
	if err != nil {
		return nil, err
	}
	made := &role{database: c.options.Database}
	connection := newConnection(transport, c.options.Timeout, c.options.Probe, func(method string, params json.RawMessage) {
		made.notified(method, params)
		c.notified(method, params)
	})
	made.lost = connection.end
	if err := made.check(ctx, connection); err != nil {
		connection.end(err)
		return nil, err
	}
	if err := c.accept(ctx, connection); err != nil {
		connection.end(err)
		return nil, err
	}
	return connection, nil
}

// accept fails for a database whose schema cannot be used.
func (c *Client) accept(ctx context.Context, connection *connection) error {
	if c.options.Accept == nil {
		return nil
	}
	schema, err := schemaOf(func(method string, params any) (json.RawMessage, error) { return connection.call(ctx, method, params) },
		c.options.Database)
	if err != nil {
		return err
	}
	return c.options.Accept(schema)
}
