// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// messageLimit is the most that is read of one message, in bytes: the rows of a large network fit.
const messageLimit = 256 << 20

// connection is JSON-RPC 1.0 with a server, in both directions.
type connection struct {
	net.Conn
	timeout time.Duration
	// notified gets each notification, in the order in which they arrive, before any later response.
	notified func(method string, params json.RawMessage)
	// ended is closed when the connection is. The cause is set before.
	ended chan struct{}

	writing sync.Mutex

	mu      sync.Mutex
	next    uint64
	pending map[string]chan message
	cause   error
	heard   time.Time
}

// message is a request, a response or a notification.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// newConnection takes over a connection until it ends.
func newConnection(transport net.Conn, timeout, probe time.Duration, notified func(string, json.RawMessage)) *connection {
	c := &connection{
		Conn: transport, timeout: timeout, notified: notified, ended: make(chan struct{}), pending: map[string]chan message{}, heard: time.Now(),
	}
	go c.read()
	if probe > 0 {
		go c.probe(probe)
	}
	return c
}

// end closes the connection. The first cause is what callers get.
func (c *connection) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	if op, ok := errors.AsType[*net.OpError](cause); ok {
		cause = fmt.Errorf("%s: %w", op.Op, op.Err) // without the local port, which would make each message a new one
	}
	c.cause = cause
	_ = c.Close()
	close(c.ended)
}

func (c *connection) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// lost is why the connection ended.
func (c *connection) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Errorf("the connection ended: %w", c.cause)
}

// bounded is a reader of messages, none of which is longer than the limit.
type bounded struct {
	io.Reader
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a message is longer than %d bytes", messageLimit)
	}
	n, err := b.Reader.Read(into)
	b.left -= n
	return n, err
}

// read handles what arrives until the connection ends.
func (c *connection) read() {
	from := &bounded{Reader: c.Conn}
	decoder := json.NewDecoder(from)
	for {
		from.left = messageLimit
		var m message
		if err := decoder.Decode(&m); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server closed it")
			}
			c.end(err)
			return
		}
		c.mu.Lock()
		c.heard = time.Now()
		c.mu.Unlock()
		c.handle(m)
	}
}

func (c *connection) handle(m message) {
	switch {
	case m.Method == "echo":
		// In a goroutine: a server that does not read must not keep this from reading.
		go func() {
			if err := c.write(map[string]any{"id": m.ID, "result": m.Params, "error": nil}); err != nil {
				c.end(err)
			}
		}()
	case m.Method != "":
		c.notified(m.Method, m.Params)
	default:
		c.mu.Lock()
		waiting := c.pending[string(m.ID)]
		delete(c.pending, string(m.ID))
		c.mu.Unlock()
		if waiting != nil {
			waiting <- m
		}
	}
}

// probe ends the connection if the server is silent: a route that is lost closes nothing.
func (c *connection) probe(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-ticker.C:
		}
		c.mu.Lock()
		silent := time.Since(c.heard)
		c.mu.Unlock()
		if silent < interval {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), interval)
		_, err := c.call(ctx, "echo", []any{"probe"})
		cancel()
		if err != nil && !c.hasEnded() {
			c.end(errors.New("the server does not respond to probes"))
		}
	}
}

// call sends a request and waits for its response.
func (c *connection) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c.mu.Lock()
	c.next++
	id, response := strconv.FormatUint(c.next, 10), make(chan message, 1)
	c.pending[id] = response
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	if err := c.write(map[string]any{"method": method, "params": params, "id": json.RawMessage(id)}); err != nil {
		if errors.Is(err, errNotSent) {
			return nil, err
		}
		c.end(err) // a part of the request may have been sent
		return nil, c.lost()
	}
	select {
	case m := <-response:
		if len(m.Error) > 0 && string(m.Error) != "null" {
			return nil, methodError(method, m.Error)
		}
		return m.Result, nil
	case <-c.ended:
		return nil, c.lost()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no response: %w", method, ctx.Err())
	}
}

// errNotSent marks a request that cannot be encoded.
var errNotSent = errors.New("encode a request")

// write sends a message as a whole.
func (c *connection) write(m any) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err = c.Write(data)
	return err
}

// methodError returns the response to a request that was not accepted as a whole: text, or an object like those of operations.
func methodError(method string, data json.RawMessage) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return fmt.Errorf("%s: %w", method, &Error{Code: text})
	}
	var object struct {
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if json.Unmarshal(data, &object) == nil && object.Error != "" {
		return fmt.Errorf("%s: %w", method, &Error{Code: object.Error, Details: object.Details})
	}
	return fmt.Errorf("%s: %w", method, &Error{Code: string(data)})
}
