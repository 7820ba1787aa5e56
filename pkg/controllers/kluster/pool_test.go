// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
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
