// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"sync"
	"time"
)

// sharedTimeout ends a read that several callers wait for.
const sharedTimeout = time.Minute

// Shared reads a list for many callers at a time. Each gets one whose read began after its call: those that call while one is being read
// share the next one. The result is only read. The zero value is ready to be used.
type Shared[T any] struct {
	mu sync.Mutex
	// reading reports that a read is in progress, and next is the one that begins after it; nil: no caller waits for one.
	reading bool
	next    *read[T]
}

// read is one read of a list, and its result when it is done.
type read[T any] struct {
	do     func(context.Context) (T, error)
	done   chan struct{}
	result T
	err    error
}

// Read returns the list. It has to be the same one for all callers. A caller whose context ends leaves the read to the others.
func (s *Shared[T]) Read(ctx context.Context, list func(context.Context) (T, error)) (T, error) {
	s.mu.Lock()
	if s.next == nil {
		s.next = &read[T]{do: list, done: make(chan struct{})}
	}
	r := s.next
	if !s.reading {
		s.reading = true
		go s.run(context.WithoutCancel(ctx))
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// run reads for as long as callers wait.
func (s *Shared[T]) run(ctx context.Context) {
	for {
		s.mu.Lock()
		r := s.next
		s.next, s.reading = nil, r != nil
		s.mu.Unlock()
		if r == nil {
			return
		}
		r.read(ctx)
	}
}

func (r *read[T]) read(ctx context.Context) {
	defer close(r.done)
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	r.result, r.err = r.do(ctx)
}
