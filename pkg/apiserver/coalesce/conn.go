// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package coalesce

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// large is the size from which a write is made at once when none waits: it would gain nothing, but be copied.
	large = 8 << 10
	// most is how many bytes wait, but for those of the last write. Who writes faster than the peer reads has to wait.
	most = 32 << 10
	// small and kept are the sizes of buffers: as they are made, and up to which they are kept for others.
	small, kept = 4 << 10, 64 << 10
	// linger is how long the end of a connection waits until the peer has taken what was written before.
	linger = 5 * time.Second
)

// conn is a connection whose writes return before they are made. One goroutine at a time writes all that waits; idle
// connections have neither a goroutine nor a buffer.
type conn struct {
	net.Conn
	shutdown *shutdown

	mu sync.Mutex
	// changed tells of each change of what is below.
	changed sync.Cond
	// waiting is what was written, but not yet to the peer; nil for nothing.
	waiting *[]byte
	// writing says that somebody writes to the peer.
	writing bool
	// failed is why nothing can be written any more.
	failed error
	// deadline is that of writes, zero for none. Expiry tells those who wait.
	deadline time.Time
	expiry   *time.Timer
	closed   bool
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, small)) }}

// release keeps a buffer for others.
func release(buffer *[]byte) {
	if cap(*buffer) <= kept {
		*buffer = (*buffer)[:0]
		buffers.Put(buffer)
	}
}

func newConn(c net.Conn, s *shutdown) *conn {
	coalescing := &conn{Conn: c, shutdown: s}
	coalescing.changed.L = &coalescing.mu
	return coalescing
}

// Write implements net.Conn. What it returns may be the error of an earlier write.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.waiting != nil && len(*c.waiting) >= most && c.writable() == nil {
		c.changed.Wait()
	}
	if err := c.writable(); err != nil {
		return 0, err
	}
	if len(p) >= large && !c.writing {
		return c.writeNow(p)
	}
	if c.waiting == nil {
		c.waiting = buffers.Get().(*[]byte)
	}
	*c.waiting = append(*c.waiting, p...)
	if !c.writing {
		c.writing = true
		go c.writeWaiting()
	}
	return len(p), nil
}

// writable returns why nothing can be written.
func (c *conn) writable() error {
	switch {
	case c.failed != nil:
		return c.failed
	case c.closed:
		return net.ErrClosed
	case c.late():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// writeNow writes without waiting for anything, as a connection does that does not coalesce.
func (c *conn) writeNow(p []byte) (int, error) {
	c.writing = true
	c.mu.Unlock()
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	if c.waiting != nil {
		go c.writeWaiting()
	} else {
		c.writing = false
		c.changed.Broadcast()
	}
	return n, err
}

// writeWaiting writes until nothing waits.
func (c *conn) writeWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.waiting != nil && c.failed == nil {
		batch := c.waiting
		c.waiting = nil
		c.changed.Broadcast()
		c.failed = c.write(*batch)
		release(batch)
	}
	if c.waiting != nil {
		release(c.waiting)
		c.waiting = nil
	}
	c.writing = false
	c.changed.Broadcast()
}

// write writes a batch. It goes on when somebody moves a deadline that has passed: what a connection has taken, it sends.
func (c *conn) write(batch []byte) error {
	for {
		c.mu.Unlock()
		n, err := c.Conn.Write(batch)
		c.mu.Lock()
		if batch = batch[n:]; len(batch) == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		for c.late() {
			if c.closed {
				return err
			}
			c.changed.Wait()
		}
	}
}

// flush waits until all is written, or the deadline passes.
func (c *conn) flush() {
	for c.writing && !c.late() {
		c.changed.Wait()
	}
}

// late says whether the deadline has passed.
func (c *conn) late() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetWriteDeadline implements net.Conn. A deadline that has passed already waits for what was written before: crypto/tls sets
// one as the last thing before it closes a connection.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.IsZero() && !time.Now().Before(t) {
		c.end()
	}
	return c.setDeadline(t)
}

func (c *conn) setDeadline(t time.Time) error {
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	if c.deadline = t; !t.IsZero() {
		c.expiry = time.AfterFunc(time.Until(t), c.tell)
	}
	c.changed.Broadcast()
	return c.Conn.SetWriteDeadline(t)
}

// tell makes those who wait look again. It takes the lock, so that nobody is between the look and the wait.
func (c *conn) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// end waits, but not for long, until all is written.
func (c *conn) end() {
	if !c.writing {
		return
	}
	if limit := c.shutdown.limit(); c.deadline.IsZero() || c.deadline.After(limit) {
		_ = c.setDeadline(limit) // if it cannot be set, nothing is written either
	}
	c.flush()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	c.end()
	c.closed = true
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Conn.Close()
}
