// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"errors"
	"testing"
	"time"
)

// TestCacheBehindTheBackend checks that a copy is not deleted because the cache of the backend is behind: the source was deleted and
// recreated, another discoverer has copied it, and the watch of this one has reported nothing but the deletion.
func TestCacheBehindTheBackend(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"web", "api", "gone"}, func(w *world) {
		w.backend.live = map[string]bool{"web": true, "api": true}
		w.Deleted(keyOf("api"), refTo("api"))
		w.Deleted(keyOf("gone"), refTo("gone"))
		w.start()
		w.after(time.Second)
		w.expect("api lives", map[string]int{"delete": 1})
		w.backend.set("api") // the cache has caught up
		w.Touch(keyOf("api"))
		w.after(time.Minute)
		w.expect("api has its copy", map[string]int{})
	})
}

// TestBackendCannotBeRead checks that nothing is deleted before the backend itself has confirmed that the source does not exist.
func TestBackendCannotBeRead(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"gone"}, func(w *world) {
		w.backend.broken = errors.New("the backend does not respond")
		w.start()
		w.Deleted(keyOf("gone"), refTo("gone"))
		w.after(time.Minute)
		w.expect("what does not follow from the backend is done", map[string]int{"create": 1})
		w.backend.repair()
		w.after(20 * time.Minute)
		w.expect("it responds", map[string]int{"delete": 1})
	})
}

// TestReadSince checks that a backend is read in a state that is not older than the time when this discoverer began to work.
func TestReadSince(t *testing.T) {
	inWorld(t, nil, []string{"gone"}, func(w *world) {
		w.after(time.Hour) // another discoverer works
		began := time.Now()
		w.start()
		w.after(time.Second)
		w.expect("it does not exist", map[string]int{"delete": 1})
		if w.backend.since.Before(began) {
			t.Errorf("read as it has been since %s, the work began at %s", w.backend.since, began)
		}
	})
}
