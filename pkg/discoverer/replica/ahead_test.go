// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"errors"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"
)

// TestCaughtUp checks that the event of the discoverer's last write triggers no check, that others do, and that older ones change
// nothing.
func TestCaughtUp(t *testing.T) {
	const written = "10"
	for name, test := range map[string]struct {
		version string
		uid     types.UID
		// echo reports that it is an own write, kept that the write is still ahead of the caches.
		echo, kept bool
	}{
		"own":                 {"10", "uid-web", true, false},
		"older":               {"9", "uid-web", false, true},
		"newer":               {"11", "uid-web", false, false},
		"newer, longer":       {"100", "uid-web", false, false},
		"of another object":   {"10", "other", false, false},
		"older, of another":   {"9", "other", false, false},
		"of no known version": {"x", "uid-web", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			key := keyOf("web")
			m := newMemory()
			m.wrote(key, copied("web", written))
			seen := copied("web", test.version)
			seen.UID = test.uid
			if echo := m.caughtUp(key, seen); echo != test.echo || len(m.written) > 0 != test.kept {
				t.Errorf("echo = %t, want %t; %v is ahead, want %t", echo, test.echo, m.written, test.kept)
			}
		})
	}
	if newMemory().caughtUp(keyOf("web"), copied("web", "1")) {
		t.Error("nothing was written, and still it is an echo")
	}
}

// TestExistingWhileCachesCatchUp checks that written objects are known before the caches have them, because they would be created
// or changed again otherwise.
func TestExistingWhileCachesCatchUp(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"web"}, func(w *world) {
		w.start()
		w.after(time.Second)
		key := keyOf("web")
		for version := 2; version < 200; version++ {
			written := copied("web", strconv.Itoa(version))
			w.memory.wrote(key, written)
			go func() {
				if err := w.here.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), written.DeepCopy(), "shop"); err != nil {
					t.Error(err)
				}
			}()
			for ahead := true; ahead; {
				w.memory.mu.Lock()
				ahead = len(w.memory.written) > 0
				w.memory.mu.Unlock()
				if have := w.observe(key).have.Service; have == nil || have.ResourceVersion != written.ResourceVersion {
					t.Fatalf("version %d was written, and the copy is %v", version, have)
				}
			}
		}
	})
}

// TestEcho checks that a write triggers no other, neither by its event nor by a second check, and that changes by other clients are
// repaired.
func TestEcho(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		w.start()
		w.after(time.Minute)
		w.expect("copied", map[string]int{"create": 1})
		live, err := w.here.CoreV1().Services("shop").Get(t.Context(), "us-web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		live.Spec.Ports, live.ResourceVersion = nil, "7"
		if err := w.here.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), live, "shop"); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.expect("changed by another client", map[string]int{"patch": 1})
	})
}

// TestDeletedInFlight checks that a copy that a user deletes before the response to its creation arrives is recreated.
func TestDeletedInFlight(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		services := corev1.SchemeGroupVersion.WithResource("services")
		first := true
		w.here.PrependReactor("create", "services", func(action ktesting.Action) (bool, runtime.Object, error) {
			if !first {
				return false, nil, nil
			}
			first = false
			created := action.(ktesting.CreateAction).GetObject().(*corev1.Service).DeepCopy()
			created.UID, created.ResourceVersion = "first", "5"
			err := errors.Join(w.here.Tracker().Create(services, created, "shop"), w.here.Tracker().Delete(services, "shop", created.Name))
			time.Sleep(time.Second) // the events are faster
			return true, created, err
		})
		w.start()
		w.after(time.Minute)
		w.expect("deleted in flight", map[string]int{"create": 2})
	})
}

// A service that is back before the cache has the deletion of its copy is copied again immediately, and does not collide with itself.
func TestBackBeforeDeletionIsSeen(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"web"}, func(w *world) {
		w.here.PrependWatchReactor("services", func(action ktesting.Action) (bool, watch.Interface, error) {
			events, err := w.here.Tracker().Watch(action.GetResource(), action.GetNamespace())
			return true, watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
				return event, event.Type != watch.Deleted // it is late
			}), err
		})
		set := func(present bool) {
			w.backend.mu.Lock()
			defer w.backend.mu.Unlock()
			w.backend.services["web"] = present
		}
		w.start()
		w.after(time.Second)
		set(false)
		w.Deleted(keyOf("web"), refTo("web"))
		w.after(time.Second)
		w.expect("deleted", map[string]int{"delete": 1})
		set(true)
		w.Touch(keyOf("web"))
		w.after(time.Second)
		w.expect("back", map[string]int{"create": 1})
		if problems := w.Ledger.Entries(); len(problems) > 0 {
			t.Errorf("problems = %v, want none", problems)
		}
	})
}
