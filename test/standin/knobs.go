// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"errors"
	"sync"
	"time"
)

// errInstructed is a failure that a test requested.
var errInstructed = errors.New("instructed to fail")

// knobs are what a test set in the stand-in.
type knobs struct {
	mu    sync.Mutex
	delay time.Duration
	dead  bool
	never map[Kind]bool
	fail  map[Kind]int
	// aside are the objects that were to be checked while it was dead.
	aside map[key]bool
}

// SetDelay makes it wait before each check of an object.
func (s *Standin) SetDelay(d time.Duration) {
	s.knobs.mu.Lock()
	defer s.knobs.mu.Unlock()
	s.knobs.delay = d
}

// FailNext lets the next n checks objects of a kind fail before anything is done. They are tried again after a pause.
func (s *Standin) FailNext(kind Kind, n int) {
	s.knobs.mu.Lock()
	defer s.knobs.mu.Unlock()
	if s.knobs.fail == nil {
		s.knobs.fail = map[Kind]int{}
	}
	s.knobs.fail[kind] = n
}

// SetDead makes it begin nothing any more. Alive again, it checks what it missed.
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

// change turns a knob, and checks what may be checked now.
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

// admit returns the time to wait before a check of an object, and the error that a test requested. A negative time means that there
// must be no check.
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
		return 0, errInstructed
	}
	return n.delay, nil
}
