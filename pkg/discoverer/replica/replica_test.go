// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// TestStart checks that nothing is written before all inputs of the decision are known, and that readiness reports the missing
// ones.
func TestStart(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"old"}, func(w *world) {
		w.backend.mu.Lock()
		w.backend.unsynced = true
		w.backend.mu.Unlock()
		w.Withheld = func(context.Context) (bool, error) { return false, nil }
		w.start()
		w.Touch(keyOf("web"))
		for _, step := range []struct {
			missing string
			then    func()
		}{
			{"the backend", func() {
				w.backend.mu.Lock()
				w.backend.unsynced = false
				w.backend.mu.Unlock()
			}},
			{"the DiscoveryBackend", func() { w.SetWithheld(false) }},
		} {
			w.after(time.Minute)
			w.expect("without "+step.missing, map[string]int{})
			if w.queue.Len() > 0 {
				t.Error("services are queued although all will be compared")
			}
			if err := w.Check(); err == nil || !strings.Contains(err.Error(), step.missing) || !w.LastSync().IsZero() {
				t.Errorf("readiness reports %v, not %s", err, step.missing)
			}
			step.then()
		}
		w.after(time.Second)
		w.expect("with all", map[string]int{"create": 1, "delete": 1})
		if err := w.Check(); err != nil || w.LastSync().IsZero() {
			t.Error(err)
		}
	})
}

// Errors that only a user can resolve are retried with intervals that double up to a minute, temporary errors more often. A success
// resets the interval.
func TestRetry(t *testing.T) {
	rejected := apierrors.NewForbidden(corev1.Resource("services"), "us-web", errors.New("a policy"))
	for name, test := range map[string]struct {
		rejection error
		// five and fifteen are the tries in so many seconds, later those in a minute, long after.
		five, fifteen, later int
		reported             bool
	}{
		"an obstacle":          {rejected, 1, 2, 1, true},
		"an error that passes": {apierrors.NewInternalError(errors.New("etcd")), 7, 9, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, []string{"web"}, nil, func(w *world) {
				var healed atomic.Bool
				w.reject("create", func() error {
					if healed.Load() {
						return nil
					}
					return test.rejection
				})
				w.start()
				w.after(4900 * time.Millisecond)
				five := w.writes()["create"]
				w.after(10 * time.Second)
				fifteen := five + w.writes()["create"]
				w.after(10 * time.Minute)
				w.writes()
				w.after(time.Minute)
				if later := w.writes()["create"]; five != test.five || fifteen != test.fifteen || later != test.later {
					t.Errorf("tries: %d in 5 s, %d in 15 s, %d in a minute later; want %d, %d, %d", five, fifteen, later, test.five, test.fifteen, test.later)
				}
				if reported := len(w.Ledger.Entries()) > 0; reported != test.reported {
					t.Errorf("reported: %v", w.Ledger.Entries())
				}
				healed.Store(true)
				w.after(time.Minute)
				w.expect("healed", map[string]int{"create": 1})
				if len(w.Ledger.Entries()) > 0 || w.LastSync().IsZero() {
					t.Errorf("still reported: %v", w.Ledger.Entries())
				}
			})
		})
	}
}

// names are so many names of services.
func names(count int) []string {
	all := make([]string, 0, count)
	for i := range count {
		all = append(all, fmt.Sprintf("s%d", i))
	}
	return all
}

// TestSweep checks that copies without a source are deleted, and, if these are most of them, only those that a second complete list
// lacks as well.
func TestSweep(t *testing.T) {
	for name, test := range map[string]struct {
		services, copies int
		// listed is what the second listing has; -1 is an error.
		listed int
		// immediately, and after the second listing.
		first, then int
		listings    int
	}{
		"few":                              {8, 10, -1, 2, 0, 0},
		"most, and they have been deleted": {2, 20, 2, 0, 18, 1},
		"most, and some are there":         {2, 20, 15, 0, 5, 1},
		"most, and all are there":          {2, 20, 20, 0, 0, 1},
		"most, and it is unknown which":    {2, 20, -1, 0, 0, 2},
		"most of few":                      {1, 4, -1, 3, 0, 0},
		"half is not more than half":       {10, 20, -1, 10, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, names(test.services), names(test.copies), func(w *world) {
				if test.listed >= 0 {
					w.backend.mu.Lock()
					w.backend.listed = append([]string{}, names(test.listed)...)
					w.backend.mu.Unlock()
				}
				w.start()
				w.after(ConfirmationPause - time.Second)
				if deleted := w.writes()["delete"]; deleted != test.first {
					t.Errorf("deleted %d before the second listing, want %d", deleted, test.first)
				}
				w.after(ConfirmationPause + 2*time.Second)
				if deleted := w.writes()["delete"]; deleted != test.then {
					t.Errorf("deleted %d after it, want %d", deleted, test.then)
				}
				defer w.backend.lock()()
				if w.backend.listings < test.listings || test.listings == 0 && w.backend.listings > 0 {
					t.Errorf("listed %d times, want %d", w.backend.listings, test.listings)
				}
			})
		})
	}
}

// TestDeletedForSure checks that a deletion event of the backend needs no second list.
func TestDeletedForSure(t *testing.T) {
	inWorld(t, names(20), names(20), func(w *world) {
		w.start()
		w.after(time.Second)
		for _, name := range names(15) {
			w.backend.mu.Lock()
			delete(w.backend.services, name)
			w.backend.mu.Unlock()
			w.Deleted(keyOf(name), refTo(name))
		}
		w.after(time.Second)
		w.expect("told", map[string]int{"delete": 15})
	})
}

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
		key := keyOf("web")
		r := &Replica{ahead: ahead{written: map[types.NamespacedName]map[desired.Ref]metav1.Object{key: {refTo("web"): copied("web", written)}}}}
		seen := copied("web", test.version)
		seen.UID = test.uid
		if echo := r.caughtUp(key, seen); echo != test.echo || len(r.ahead.written) > 0 != test.kept {
			t.Errorf("%s: echo %t, %v is ahead", name, echo, r.ahead.written)
		}
	}
	if (&Replica{}).caughtUp(keyOf("web"), copied("web", "1")) {
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
			w.wrote(key, written)
			go func() {
				if err := w.here.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), written.DeepCopy(), "shop"); err != nil {
					t.Error(err)
				}
			}()
			for ahead := true; ahead; {
				w.mu.Lock()
				ahead = len(w.ahead.written) > 0
				w.mu.Unlock()
				if have := w.existing(key).Service; have == nil || have.ResourceVersion != written.ResourceVersion {
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
