// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package coalesce

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"
	"pgregory.net/rapid"
)

// connect returns both ends of a connection on loopback, of which the first one coalesces.
func connect(t interface{ Fatal(...any) }) (here, there net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Listener(l)
	defer func() { _ = l.Close() }()
	if there, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if here, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return here, there
}

// It is a connection as any other.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		c1, c2 = connect(t)
		return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
	})
}

// stuck is a connection whose peer reads when it is told to.
type stuck struct {
	net.Conn
	writes chan []byte
}

func (s *stuck) Write(p []byte) (int, error) {
	s.writes <- bytes.Clone(p)
	return len(p), nil
}
func (*stuck) SetWriteDeadline(time.Time) error { return nil }
func (*stuck) Close() error                     { return nil }

func mustWrite(t *testing.T, c net.Conn, p []byte) {
	t.Helper()
	if n, err := c.Write(p); n != len(p) || err != nil {
		t.Fatalf("%d of %d bytes: %v", n, len(p), err)
	}
}

// While one write is made, all others become one.
func TestCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := &stuck{writes: make(chan []byte)}
		c := newConn(peer, &shutdown{})
		for i := range 5 {
			mustWrite(t, c, []byte{byte('a' + i)})
			if i == 0 {
				synctest.Wait() // the first one is on its way
			}
		}
		for _, want := range []string{"a", "bcde"} {
			if got := string(<-peer.writes); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		synctest.Wait()
		if c.writing || c.waiting != nil {
			t.Error("an idle connection keeps a goroutine or a buffer")
		}
	})
}

// Somebody who writes faster than the peer reads has to wait, and goes on when the peer does.
func TestWaitsForSlowPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := &stuck{writes: make(chan []byte)}
		c := newConn(peer, &shutdown{})
		part := bytes.Repeat([]byte("x"), large-1)
		written := 0
		go func() {
			for range 100 {
				mustWrite(t, c, part)
				written++
			}
		}()
		synctest.Wait()
		// As much is on its way.
		if taken := written * len(part); taken < most || taken > 2*(most+len(part)) {
			t.Errorf("%d bytes were taken", taken)
		}
		read := 0
		for read < 100*len(part) {
			read += len(<-peer.writes)
		}
		synctest.Wait()
		if written != 100 {
			t.Errorf("%d writes", written)
		}
	})
}

// A large write is made by whoever asks for it, and what others write meanwhile comes behind it.
func TestLargeWritesAreNotCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peer := &stuck{writes: make(chan []byte)}
		c := newConn(peer, &shutdown{})
		big := bytes.Repeat([]byte("x"), large)
		returned := false
		go func() {
			mustWrite(t, c, big)
			returned = true
		}()
		synctest.Wait()
		if returned || c.waiting != nil {
			t.Error("it returned before it was made")
		}
		mustWrite(t, c, []byte("next"))
		if got := <-peer.writes; !bytes.Equal(got, big) {
			t.Errorf("%d bytes", len(got))
		}
		if got := <-peer.writes; string(got) != "next" {
			t.Errorf("%q", got)
		}
		synctest.Wait()
		if !returned || c.writing {
			t.Error("it is still writing")
		}
	})
}

// failing is a connection whose peer goes away during the first write.
type failing struct {
	stuck
	gone chan error
	made int
}

func (f *failing) Write([]byte) (int, error) {
	f.made++
	return 0, <-f.gone
}

// A write that failed is the end of all others, and they say why.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the peer is gone")
		peer := &failing{gone: make(chan error)}
		c := newConn(peer, &shutdown{})
		mustWrite(t, c, []byte("a"))
		synctest.Wait()
		mustWrite(t, c, []byte("b"))
		peer.gone <- gone
		synctest.Wait()
		if c.waiting != nil || c.writing || peer.made != 1 {
			t.Errorf("something waits for ever, or %d writes were made", peer.made)
		}
		for range 2 {
			if _, err := c.Write([]byte("c")); !errors.Is(err, gone) {
				t.Errorf("%v", err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Write([]byte("d")); !errors.Is(err, gone) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// What was written before the end arrives.
func TestCloseWaitsForThePeer(t *testing.T) {
	for name, end := range map[string]func(net.Conn) error{
		"close": net.Conn.Close,
		"a deadline that has passed": func(c net.Conn) error {
			return errors.Join(c.SetWriteDeadline(time.Now()), c.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				c := newConn(here, &shutdown{})
				mustWrite(t, c, []byte("first"))
				synctest.Wait()
				mustWrite(t, c, []byte(" and last"))
				ended := make(chan error, 1)
				go func() { ended <- end(c) }()
				time.Sleep(linger - time.Second) // the bubble's clock
				got, err := io.ReadAll(there)
				if err != nil || string(got) != "first and last" {
					t.Errorf("%q, %v", got, err)
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
					t.Errorf("after the end: %v", err)
				}
			})
		})
	}
}

// A peer that takes nothing does not hold up the end for ever.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	for name, deadline := range map[string]time.Duration{"no deadline": 0, "a short one": time.Second, "a long one": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer func() { _ = there.Close() }()
				c, want := newConn(here, &shutdown{}), linger
				if deadline > 0 {
					want = min(want, deadline)
					if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
						t.Fatal(err)
					}
				}
				mustWrite(t, c, []byte("x"))
				start := time.Now()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != want {
					t.Errorf("it took %s, not %s", took, want)
				}
			})
		})
	}
}

// piped is a listener of the near ends of pipes.
type piped struct{ accepted chan net.Conn }

func (p *piped) Accept() (net.Conn, error) { return <-p.accepted, nil }
func (*piped) Close() error                { return nil }
func (*piped) Addr() net.Addr              { return &net.TCPAddr{} }

// A server that shuts down closes its connections one after the other. It takes no longer when many of their peers are gone,
// while the end of a connection of a server that runs on has all its time.
func TestShutdownLingersOnce(t *testing.T) {
	for name, test := range map[string]struct {
		shutdown bool
		want     time.Duration
	}{"shutdown": {true, linger}, "no shutdown": {false, 100 * linger}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := &piped{accepted: make(chan net.Conn, 1)}
				l := Listener(from)
				var dead []net.Conn
				for range 100 {
					here, there := net.Pipe()
					defer func() { _ = there.Close() }()
					from.accepted <- here
					c, err := l.Accept()
					if err != nil {
						t.Fatal(err)
					}
					mustWrite(t, c, []byte("x"))
					dead = append(dead, c)
				}
				start := time.Now()
				if test.shutdown {
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
				}
				for _, c := range dead {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(start); took != test.want {
					t.Errorf("closing 100 connections took %s, want %s", took, test.want)
				}
			})
		})
	}
}

// What a passed deadline left behind ends with the connection.
func TestCloseAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which sees goroutines that do not end
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		c := newConn(here, &shutdown{})
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, c, []byte("x"))
		time.Sleep(time.Minute) // the bubble's clock
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A deadline ends who waits for the peer; when it is moved, nothing that was taken is missing.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c := newConn(here, &shutdown{})
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		var taken int
		for {
			n, err := c.Write(make([]byte, large-1))
			taken += n
			if err != nil {
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				break
			}
		}
		time.Sleep(time.Minute) // the bubble's clock
		if err := c.SetWriteDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go func() {
			mustWrite(t, c, []byte("the end"))
			_ = c.Close()
		}()
		got, err := io.ReadAll(there)
		if err != nil || len(got) != taken+len("the end") || !bytes.HasSuffix(got, []byte("the end")) {
			t.Errorf("%d bytes of %d: %v", len(got), taken, err)
		}
	})
}

// Whatever is written in whatever parts arrives in its order.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(large-2, large+2), rapid.IntRange(0, 3*most)), 1, 30).Draw(t, "sizes")
		here, there := connect(t)
		defer func() { _ = there.Close() }()
		var want []byte
		for i, size := range parts {
			want = append(want, slices.Repeat([]byte{byte(i)}, size)...)
		}
		go func() {
			rest := want
			for _, size := range parts {
				if n, err := here.Write(rest[:size]); n != size || err != nil {
					return // what is missing is seen at the other end
				}
				rest = rest[size:]
			}
			_ = here.Close()
		}()
		got, err := io.ReadAll(there)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d: %v", len(got), len(want), err)
		}
	})
}
