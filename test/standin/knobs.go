// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"errors"
	"sync"
	"time"
)

// errTold is a failure that a test asked for.
var errTold = errors.New("told to fail")

// knobs are what a test told the stand-in.
type knobs struct {
	mu    sync.Mutex
	delay time.Duration
	dead  bool
	never map[Kind]bool
	fail  map[Kind]int
	// aside are the objects that were to be looked at while it was dead.
	aside map[key]bool
}

// SetDelay makes it wait before each look at an object.
func (s *Standin) SetDelay(d time.Duration) {
	s.knobs.mu.Lock()
	defer s.knobs.mu.Unlock()
	s.knobs.delay = d
}

// FailNext lets the next n looks at objects of a kind fail before anything is done. They are tried again after a pause.
func (s *Standin) FailNext(kind Kind, n int) {
	s.knobs.mu.Lock()
	defer s.knobs.mu.Unlock()
	if s.knobs.fail == nil {
		s.knobs.fail = map[Kind]int{}
	}
	s.knobs.fail[kind] = n
}

// SetDead makes it begin nothing any more. Alive again, it looks at what it missed.
func (s *Standin) SetDead(dead bool) {
	s.change(func(k *knobs) { k.dead = dead })
}

// SetNever makes it do nothing for a kind.
func (s *Standin) SetNever(kind Kind, never bool) {
	s.change(func(k *knobs) {
		if k.never == nil {
			k.never = map[Kind]bool{}
		}
		k.never[kind] = never
	})
}

// change turns a knob, and looks at what may be looked at now.
func (s *Standin) change(how func(*knobs)) {
	s.knobs.mu.Lock()
	defer s.knobs.mu.Unlock()
	how(&s.knobs)
	for k := range s.knobs.aside {
		if !s.knobs.dead && !s.knobs.never[k.kind] {
			delete(s.knobs.aside, k)
			s.queue.Add(k)
		}
	}
}

// admit says how long to wait before a look at an object, and the error that a test asked for. A negative wait means that
// there must be no look.
func (n *knobs) admit(k key) (time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead || n.never[k.kind] {
		if n.aside == nil {
			n.aside = map[key]bool{}
		}
		n.aside[k] = true
		return -1, nil
	}
	if n.fail[k.kind] > 0 {
		n.fail[k.kind]--
		return 0, errTold
	}
	return n.delay, nil
}
