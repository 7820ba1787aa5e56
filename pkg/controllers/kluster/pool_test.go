// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func key(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

func newPool(t *testing.T, limit int) *Pool[string] {
	t.Helper()
	p := &Pool[string]{Limit: limit, Timeout: time.Minute}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := p.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return p
}

// begin starts work that ends on request.
func begin(p *Pool[string], object, where string) (end chan string) {
	end = make(chan string, 1)
	p.Begin(key(object), where, func(ctx context.Context) string {
		select {
		case result := <-end:
			return result
		case <-ctx.Done():
			return ctx.Err().Error()
		}
	})
	return end
}

func TestWorkIsDoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1)
		end := begin(p, "a", "cloud")
		if _, ok := p.Take(key("a")); ok || !p.Busy(key("a")) {
			t.Error("it is done before its end")
		}
		end <- "result"
		synctest.Wait()
		if request, _ := p.queue.Get(); request.NamespacedName != key("a") {
			t.Errorf("queued %v", request)
		}
		if !p.Busy(key("a")) {
			t.Error("it could begin again before its result is taken")
		}
		if result, ok := p.Take(key("a")); !ok || result != "result" || p.Busy(key("a")) {
			t.Errorf("got %q, %t", result, ok)
		}
		if _, ok := p.Take(key("a")); ok {
			t.Error("the result is there twice")
		}
		if len(p.places) != 0 || len(p.tasks) != 0 {
			t.Errorf("left %v, %v", p.places, p.tasks)
		}
	})
}

// One place that does not respond blocks itself, and no other client.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 2)
		first, _ := begin(p, "a", "stuck"), begin(p, "b", "stuck")
		begin(p, "c", "stuck") <- "c"
		begin(p, "d", "good") <- "d"
		synctest.Wait()
		if _, ok := p.Take(key("d")); !ok {
			t.Error("a stuck place blocks another one")
		}
		if !p.Busy(key("c")) {
			t.Error("three run at a place with room for two")
		}
		first <- "a"
		synctest.Wait()
		if result, ok := p.Take(key("c")); !ok || result != "c" {
			t.Error("the turn does not come")
		}
	})
}

// TestTotal checks that only a few run at all places together, that each place always has a turn, and that the place with the fewest is first.
func TestTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 3)
		p.Total = 4
		ends := map[string]chan string{}
		for _, object := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1"} {
			ends[object] = begin(p, object, object[:1])
		}
		running := func() map[string]int {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			all := map[string]int{}
			for name, at := range p.places {
				all[name] = at.running
			}
			return all
		}
		if got, want := running(), map[string]int{"a": 3, "b": 1, "c": 1, "d": 1}; !maps.Equal(got, want) {
			t.Errorf("running = %v, want %v", got, want)
		}
		for _, object := range []string{"c1", "d1"} {
			ends[object] <- object
		}
		if got, want := running(), map[string]int{"a": 3, "b": 1}; !maps.Equal(got, want) {
			t.Errorf("running = %v, want %v", got, want)
		}
		ends["a1"] <- "a1"
		if got, want := running(), map[string]int{"a": 2, "b": 2}; !maps.Equal(got, want) {
			t.Errorf("running = %v, want %v: the turn is that of the place with fewer", got, want)
		}
		for _, object := range []string{"a2", "a3", "b1", "b2", "a4"} {
			ends[object] <- object
		}
		if got := running(); len(got) != 0 || p.running != 0 {
			t.Errorf("running = %v (%d), want none", got, p.running)
		}
	})
}

// TestQuiet checks since when no work has ended at a place.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1)
		began := time.Now()
		first, second := begin(p, "a", "cloud"), begin(p, "b", "cloud")
		time.Sleep(10 * time.Second)
		if got := p.Quiet(key("b")); !got.Equal(began) {
			t.Errorf("quiet since %s, want %s, when the first one began", got, began)
		}
		first <- "a"
		synctest.Wait()
		if got := p.Quiet(key("b")); got.Sub(began) != 10*time.Second {
			t.Errorf("quiet for %s from the beginning, want 10s: one ended", got.Sub(began))
		}
		if got := p.Quiet(key("a")); !got.IsZero() {
			t.Errorf("what is done is quiet since %s, want none", got)
		}
		second <- "b"
		synctest.Wait()
	})
}

func TestTimeoutAndDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, 1)
		begin(p, "slow", "cloud")
		ran := false
		p.Begin(key("forgotten"), "cloud", func(context.Context) string { ran = true; return "" })
		p.Discard(key("forgotten"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if result, ok := p.Take(key("slow")); !ok || result != context.DeadlineExceeded.Error() {
			t.Errorf("got %q, %t", result, ok)
		}
		if ran {
			t.Error("what was discarded before its turn came is begun")
		}
		if p.queue.Len() != 1 || len(p.places) != 0 {
			t.Errorf("%d are queued, places %v", p.queue.Len(), p.places)
		}
		begin(p, "late", "cloud")
		p.Discard(key("late"))
		synctest.Wait()
		if _, ok := p.Take(key("late")); ok || p.queue.Len() != 1 {
			t.Error("what is discarded has a result")
		}
	})
}
