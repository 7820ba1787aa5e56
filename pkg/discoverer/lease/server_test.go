// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// server is an API server with one Lease, which rejects what is not of the newest version.
type server struct {
	client.Leases

	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	writes  int
	// last is when the Lease was last written.
	last time.Time
}

// line is the way of one contender to the server.
type line struct {
	*server

	mu sync.Mutex
	// cut drops requests, lost drops responses. slow is the delay of a response.
	cut, lost bool
	slow      time.Duration
}

var errCut = errors.New("no response")

func (l *line) set(cut, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.lost = cut, lost
}

func (l *line) do(ctx context.Context, request func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	cut, lost, slow := l.cut, l.lost, l.slow
	l.mu.Unlock()
	if cut {
		select {
		case <-ctx.Done():
		case <-time.After(MaxTimeout / 2): // the timeout of the client
		}
		return nil, errCut
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.server.mu.Lock()
	lease, err := request()
	l.server.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(slow):
	}
	if lost {
		return nil, errCut
	}
	return lease, err
}

// Get implements client.Leases.
func (l *line) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.do(ctx, func() (*coordinationv1.Lease, error) {
		if l.lease == nil {
			return nil, apierrors.NewNotFound(leases, name)
		}
		return l.lease.DeepCopy(), nil
	})
}

// Create implements client.Leases.
func (l *line) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.do(ctx, func() (*coordinationv1.Lease, error) {
		if l.lease != nil {
			return nil, apierrors.NewAlreadyExists(leases, lease.Name)
		}
		return l.put(lease), nil
	})
}

// Update implements client.Leases.
func (l *line) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.do(ctx, func() (*coordinationv1.Lease, error) {
		switch {
		case l.lease == nil:
			return nil, apierrors.NewNotFound(leases, lease.Name)
		case lease.ResourceVersion != l.lease.ResourceVersion || lease.UID != l.lease.UID:
			return nil, apierrors.NewConflict(leases, lease.Name, errors.New("it has changed"))
		}
		return l.put(lease), nil
	})
}

// put stores a Lease. The lock is held.
func (s *server) put(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.writes++
	s.last = time.Now()
	s.lease = lease.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	if s.lease.UID == "" {
		s.lease.UID = types.UID("uid-" + s.lease.ResourceVersion)
	}
	return s.lease.DeepCopy()
}

// change has another client write the Lease.
func (s *server) change(change func(*coordinationv1.Lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.lease.DeepCopy()
	change(changed)
	s.put(changed)
}

// record returns what the server has, and how often and when that was last written.
func (s *server) record() (lease *coordinationv1.Lease, writes int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.DeepCopy(), s.writes, s.last
}

func (s *server) holder() string {
	lease, _, _ := s.record()
	return holderOf(lease)
}

// contender is a discoverer.
type contender struct {
	line
	cancel  context.CancelFunc
	ended   chan struct{}
	mu      sync.Mutex
	working bool
	// to is when the work ended.
	to  time.Time
	err error
}

// contend starts a discoverer whose last write takes as long as it may.
func (s *server) contend(t *testing.T, identity string) *contender {
	ctx, cancel := context.WithCancel(t.Context())
	c := &contender{line: line{server: s}, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = Hold(ctx, &c.line, "ns", "us", identity, func(ctx context.Context) {
			c.note(true)
			<-ctx.Done()
			time.Sleep(MaxTimeout - time.Nanosecond)
			c.note(false)
		})
	}()
	return c
}

func (c *contender) note(working bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working, c.to = working, time.Now()
}

func (c *contender) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working
}

// stop ends a discoverer and returns its log.
func (c *contender) stop() error {
	c.cancel()
	<-c.ended
	return c.err
}
