// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

func TestSuspicious(t *testing.T) {
	for _, tc := range []struct {
		existing, missing int
		want              bool
	}{{0, 0, false}, {9, 9, false}, {10, 5, false}, {10, 6, true}, {10, 10, true}, {2000, 1000, false}, {2000, 1001, true}} {
		if got := suspicious(tc.existing, tc.missing); got != tc.want {
			t.Errorf("%d of %d: got %t", tc.missing, tc.existing, got)
		}
	}
}

func refs(count int) sets.Set[desired.Ref] {
	all := sets.New[desired.Ref]()
	for i := range count {
		all.Insert(desired.Ref{Kind: desired.KindService, NamespacedName: types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}})
	}
	return all
}

func TestConfirm(t *testing.T) {
	none := func(error) { t.Error("nothing failed") }
	never := func(context.Context) (sets.Set[desired.Ref], error) {
		t.Error("nothing was to be listed")
		return nil, nil
	}
	start := time.Unix(0, 0)
	if got, err := confirm(t.Context(), clocktesting.NewFakeClock(start), 10, refs(5), never, none); err != nil || len(got) != 5 {
		t.Errorf("few: %v, %v", got, err)
	}
	clock := clocktesting.NewFakeClock(start)
	advance := func() {
		for !clock.HasWaiters() {
			if t.Context().Err() != nil {
				return
			}
		}
		clock.Step(ConfirmationPause)
	}
	listings, failures := 0, 0
	list := func(context.Context) (sets.Set[desired.Ref], error) {
		listings++
		if listings == 1 {
			go advance()
			return refs(10), errors.New("broken") // state from before the failure is not used
		}
		return refs(4), nil
	}
	go advance()
	got, err := confirm(t.Context(), clock, 10, refs(10), list, func(error) { failures++ })
	if err != nil || len(got) != 6 || got.HasAny(refs(4).UnsortedList()...) || failures != 1 || clock.Since(start) != 2*ConfirmationPause {
		t.Errorf("%v, %v, %d failures, after %s", got, err, failures, clock.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := confirm(ctx, clock, 10, refs(10), never, none); len(got) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v, %v", got, err)
	}
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
		w.Unknown = func(key types.NamespacedName) bool { return key.Name != "gone" && !known.Load() }
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
		w.Unknown = func(types.NamespacedName) bool { return true }
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
