// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"sync"
	"time"
)

// memory is the last activity in each namespace that has not been written yet. A restart loses it: objects that changed in the hour before
// (youth) are activity then.
type memory struct {
	mu sync.Mutex
	at map[string]time.Time
}

// note adds an activity.
func (m *memory) note(namespace string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[string]time.Time{}
	}
	if at.After(m.at[namespace]) {
		m.at[namespace] = at
	}
}

// last returns the last activity in a namespace, or the zero time if there was none.
func (m *memory) last(namespace string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[namespace]
}

// done removes an activity, unless there was a later one.
func (m *memory) done(namespace string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.at[namespace].After(at) {
		delete(m.at, namespace)
	}
}
