// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"sync"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// locks are locks by name. No goroutine takes one while it has another, so they cannot block each other.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

// lock is a lock that a goroutine has or waits for: the channel has one place, taken by who has it.
type lock struct {
	place chan struct{}
	users int
}

// do calls fn while it has the lock. It returns fn's error, or that of ctx when that ended before fn was called.
func (l *locks) do(ctx context.Context, name string, fn func() error) error {
	l.mu.Lock()
	k := l.held[name]
	if k == nil {
		k = &lock{place: make(chan struct{}, 1)}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}()

	select {
	case k.place <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.place }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn()
}

// lockOf is the lock for writes to a resource: those under one parent are serial, and so is a parent with its children.
func lockOf(ref backend.Ref) string { return cmp.Or(ref.Parent, ref.ID, ref.Kind) }
