// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
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
		// broken are how many of the second listings fail first.
		broken, listings int
	}{
		"few":                              {8, 10, -1, 2, 0, 0, 0},
		"most, and they have been deleted": {2, 20, 2, 0, 18, 0, 1},
		"most, and some are there":         {2, 20, 15, 0, 5, 0, 1},
		"most, and all are there":          {2, 20, 20, 0, 0, 0, 1},
		"most, and it is unknown which":    {2, 20, -1, 0, 0, 0, 2},
		"most, once it is known which":     {2, 20, 2, 0, 18, 1, 2},
		"most of few":                      {1, 4, -1, 3, 0, 0, 0},
		"half is not more than half":       {10, 20, -1, 10, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, names(test.services), names(test.copies), func(w *world) {
				if test.listed >= 0 {
					w.backend.mu.Lock()
					w.backend.listed, w.backend.brokenListings = append([]string{}, names(test.listed)...), test.broken
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

// permissions is a queue that records what may be deleted when a service is added.
type permissions struct {
	workqueue.TypedRateLimitingInterface[types.NamespacedName]
	sure  func(desired.Ref) bool
	parts map[types.NamespacedName][]desired.Ref
	held  []desired.Ref
}

func (p *permissions) Add(key types.NamespacedName) {
	for _, ref := range p.parts[key] {
		if !p.sure(ref) {
			p.held = append(p.held, ref)
		}
	}
}

// TestSweepOfWholeServices checks that a service is checked when all its parts may be deleted, and not once for each: a check queries
// the backend.
func TestSweepOfWholeServices(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		queue := &permissions{TypedRateLimitingInterface: w.queue, sure: w.memory.isSure, parts: map[types.NamespacedName][]desired.Ref{}}
		w.queue = queue
		defer queue.ShutDown()
		for _, name := range names(8) {
			source := sourceIn(map[string]bool{name: true}, keyOf(name))
			source.Slices = []desired.Slice{{
				ID: name, AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
			}}
			for _, object := range desired.Build("us", source).All() {
				if err := w.here.Tracker().Add(object.(runtime.Object)); err != nil {
					w.Fatal(err)
				}
				queue.parts[keyOf(name)] = append(queue.parts[keyOf(name)], desired.RefOf(object))
			}
		}
		w.backend.listed = []string{}
		ctx, cancel := context.WithCancel(w.Context())
		var group sync.WaitGroup
		group.Go(func() { w.Watch(ctx) })
		if _, err := w.Survey(ctx); err != nil {
			w.Fatal(err)
		}
		if err := w.clear(ctx); err != nil {
			w.Error(err)
		}
		if len(queue.held) > 0 {
			w.Errorf("%d parts of services are held when these are checked, want none", len(queue.held))
		}
		for key, refs := range queue.parts {
			if len(refs) != 2 || !w.memory.isSure(refs[0]) || !w.memory.isSure(refs[1]) {
				w.Errorf("%s: parts %v are held after the sweep", key, refs)
			}
		}
		cancel()
		group.Wait()
	})
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

// TestDeletesWhatWasRead checks that a deletion is of the very copy, in the state in which it was read.
func TestDeletesWhatWasRead(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"gone"}, func(w *world) {
		want := kit.AsRead(copied("gone", "1"))
		w.start()
		w.after(time.Second)
		var got []*metav1.Preconditions
		for _, action := range w.here.Actions() {
			if deletion, ok := action.(ktesting.DeleteActionImpl); ok {
				got = append(got, deletion.DeleteOptions.Preconditions)
			}
		}
		if diff := cmp.Diff([]*metav1.Preconditions{&want}, got); diff != "" {
			t.Errorf("preconditions: %s", diff)
		}
	})
}

// TestWantedAgain checks that the permission to delete a copy ends when its service is there again.
func TestWantedAgain(t *testing.T) {
	inWorld(t, []string{"web"}, []string{"web"}, func(w *world) {
		w.start()
		w.after(time.Second)
		w.memory.permit(refTo("web"))
		w.Touch(keyOf("web"))
		w.after(time.Second)
		if w.memory.isSure(refTo("web")) {
			t.Error("the copy may still be deleted")
		}
	})
}

// TestAnotherServiceOfItsName checks that a Service of somebody else, which no cache has, is not taken over.
func TestAnotherServiceOfItsName(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		if err := w.here.Tracker().Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: refTo("web").Name}}); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.after(time.Second)
		w.expect("beside the Service of another user", map[string]int{"create": 1})
	})
}

// TestUnknown checks that a copy remains unchanged while it is unknown whether its source exists. It neither blocks others nor
// makes a list suspicious.
func TestUnknown(t *testing.T) {
	copies := []string{"gone"}
	for i := range 12 {
		copies = append(copies, fmt.Sprintf("old%d", i))
	}
	inWorld(t, []string{"web"}, copies, func(w *world) {
		var known atomic.Bool
		w.backend.unknown = func(key types.NamespacedName) bool { return key.Name != "gone" && !known.Load() }
		w.start()
		w.after(time.Second)
		w.expect("while they are unknown", map[string]int{"create": 1, "delete": 1})
		w.Touch(keyOf("old0"))
		w.Deleted(keyOf("old1"), refTo("old1")) // as after a second listing
		w.after(time.Minute)
		w.expect("looked immediately more", map[string]int{})
		known.Store(true)
		w.Touch(keyOf("old1"))
		w.after(time.Second)
		w.expect("when it is known", map[string]int{"delete": 1})
	})
}

// TestUnknownAndThere checks that an existing source is copied, whatever else is unknown.
func TestUnknownAndThere(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		w.backend.unknown = func(types.NamespacedName) bool { return true }
		w.start()
		w.after(time.Minute)
		w.expect("it is there", map[string]int{"create": 1})
	})
}

// TestListed checks that a complete list is compared immediately, and counts as a sync.
func TestListed(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		w.Listed() // no worker runs yet, and no client waits
		w.Listed()
		w.start()
		w.after(time.Minute)
		w.expect("at the start", map[string]int{"create": 1})
		w.backend.mu.Lock()
		w.backend.services["new"] = true
		w.backend.mu.Unlock()
		w.after(time.Minute)
		w.expect("before the listing", map[string]int{})
		w.Listed()
		w.after(time.Second)
		w.expect("after it", map[string]int{"create": 1})
		if took := time.Since(w.LastSync()); took > 2*time.Second {
			t.Errorf("the last sync is %s ago", took)
		}
	})
}

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

// TestServiceOfAnother checks that a Service is neither changed nor deleted that has the name of a copy and is none of its source, by its
// labels: neither while the source exists nor when it is deleted.
func TestServiceOfAnother(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		service := copied("web", "1")
		service.Labels[gimbalv1.LabelService], service.Labels[desired.LabelManagedBy] = "shop", "helm"
		if err := w.here.Tracker().Add(service); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.after(time.Second)
		w.expect("while the source exists", map[string]int{})
		if len(w.Ledger.Entries()) != 1 {
			t.Errorf("reported = %v, want the conflict", w.Ledger.Entries())
		}
		w.backend.mu.Lock()
		delete(w.backend.services, "web")
		w.backend.mu.Unlock()
		w.Deleted(keyOf("web"), refTo("web"))
		w.after(time.Minute)
		w.expect("when the source is deleted", map[string]int{})
	})
}
