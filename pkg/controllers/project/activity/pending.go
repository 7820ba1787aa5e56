// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"sync"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

const (
	// youth is how old an object may be when it is seen first, to count as created. An older one was created while
	// nobody looked, too long ago to be called activity.
	youth = time.Hour
	// resolution is how exact the time of the last activity is: what happens within it after an activity is not written.
	resolution = time.Minute
)

// happened is when an event was activity; false when it was none. Objects that were there before anybody looked were
// active when they were created, so that a manager that starts anew counts none of them twice, and misses none.
func happened(e kinds.Event, now time.Time) (time.Time, bool) {
	switch {
	case e.Old == nil:
		created := e.New.CreationTimestamp.Time
		if now.Sub(created) > youth {
			return time.Time{}, false
		}
		if e.Initial {
			return created, true
		}
		return now, true
	case e.New == nil:
		return now, true
	}
	return now, e.Old.Generation != e.New.Generation || e.Old.UID != e.New.UID
}

// isNews says whether an activity is worth a write after the last one that was written.
func isNews(at time.Time, last *time.Time) bool {
	return last == nil || at.Sub(*last) >= resolution
}

// pending has the last activity in each namespace that is still to be written.
type pending struct {
	mu sync.Mutex
	at map[string]time.Time
}

// note adds an activity.
func (p *pending) note(namespace string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[string]time.Time{}
	}
	if at.After(p.at[namespace]) {
		p.at[namespace] = at
	}
}

// last is the last activity in a namespace, the zero time when there was none.
func (p *pending) last(namespace string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[namespace]
}

// done forgets an activity, unless there was a later one.
func (p *pending) done(namespace string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at[namespace].After(at) {
		delete(p.at, namespace)
	}
}
