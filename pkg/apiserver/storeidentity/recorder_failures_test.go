// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestRecorderTriesAgain(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	r := runRecorder(t, w, first)
	var mu sync.Mutex
	calls := 0
	w.host.setFail(func(string, string) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return fmt.Errorf("connection refused")
	})
	r.Written(100)
	attempts := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return calls >= n
		}
	}
	for n := range 3 {
		r.clock.Step(10 * time.Second)
		until(t, attempts(n+1))
	}
	w.host.setFail(nil)
	r.clock.Step(10 * time.Second)
	until(t, func() bool { return w.host.recorded(t).Revision == 100 })
	until(t, func() bool { return r.logged("recorded again") == 1 })
	if n := r.logged("Cannot record"); n != 1 {
		t.Errorf("the failure is logged %d times", n)
	}
}

func TestRecorderNoticesAReplacedStore(t *testing.T) {
	for name, replace := range map[string]func(*testing.T, *world){
		"wiped":         func(t *testing.T, w *world) { w.wipe(t) },
		"another":       func(t *testing.T, w *world) { w.restore(t, map[string]string{prefix + "/store": `{"id":"b"}`}) },
		"host moved on": func(_ *testing.T, w *world) { w.host.set(&Record{"b", 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			first := verified(t, w.config())
			r := runRecorder(t, w, first)
			replace(t, w)
			r.clock.Step(10 * time.Second)
			if err := <-r.done; !errors.Is(err, ErrReplaced) {
				t.Errorf("got %v", err)
			}
			if dump := w.dump(t); name == "wiped" && len(dump) != 0 {
				t.Errorf("it wrote into the other store: %v", dump)
			}
		})
	}
}
