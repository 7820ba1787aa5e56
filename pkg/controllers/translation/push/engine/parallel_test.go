// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// TestConcurrentUse pushes many Claims from many goroutines while they change, drift checks run and calls fail.
func TestConcurrentUse(t *testing.T) {
	const claims, workers, rounds = 30, 8, 15
	b := newFake()
	queue := workqueue.NewTypedDelayingQueue[types.NamespacedName]()
	e := New(b, Options{Mode: Repair, Concurrency: 4, DeleteOrphans: true, Wake: queue.Add})

	// store stands for an API server.
	var mu sync.Mutex
	store := map[types.NamespacedName]Claim{}
	synced := make(chan types.NamespacedName, 1)
	save := func(c Claim) {
		mu.Lock()
		defer mu.Unlock()
		store[c.Name] = c
		e.Observe(c)
		queue.Add(c.Name)
	}
	faults := true
	b.before = func(op string, _ backend.Key) error {
		mu.Lock()
		defer mu.Unlock()
		if faults && op != "list" && op != "get" && rand.IntN(50) == 0 {
			return fail(backend.Conflict, "injected")
		}
		return nil
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				name, end := queue.Get()
				if end {
					return
				}
				o, err := e.Push(context.Background(), name)
				mu.Lock()
				c, ok := store[name]
				if err == nil && ok && o.Deleted && c.Deleting {
					delete(store, name)
					e.Discard(name)
				}
				mu.Unlock()
				queue.Done(name)
				if err == nil && o.RetryAfter > 0 {
					queue.AddAfter(name, min(o.RetryAfter, 10*time.Millisecond))
				}
				select {
				case synced <- name:
				default:
				}
			}
		})
	}
	list := func(i, v int) []backend.Item {
		own, other := fmt.Sprint("b", i), fmt.Sprint("b", (i+7)%claims)
		return []backend.Item{
			table(fmt.Sprint("t", i), 1), box(own, v, fmt.Sprintf("Table/t%d", (i+3)%claims)), port(own, fmt.Sprint("p", i), v), port(other, fmt.Sprint("q", i), 1),
			rule("t0", fmt.Sprint("r", i), v), rule("t0", fmt.Sprint("s", i), 1),
		}
	}
	start := time.Now()
	for round := range rounds {
		for i := range claims {
			save(Claim{Name: named(fmt.Sprint(i)), UID: types.UID(fmt.Sprint(i)), Created: start, Items: Listed(list(i, round%2+1))})
		}
		if _, err := e.Drift(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	faults = false
	mu.Unlock()
	all := func(want int) bool { return e.Counts()[Synced] == want && sum(e.Counts()) == want }
	for !all(claims * 6) {
		<-synced
	}
	if r, err := e.Drift(context.Background()); err != nil || r.Drifted > 0 || r.Orphans > 0 {
		e.with(func(x *index) {
			for _, n := range x.nodes {
				if n.drift() != "" {
					t.Logf("%s: %s", n.key, n.drift())
				}
			}
		})
		t.Fatalf("report %+v, error %v", r, err)
	}
	for i := range claims {
		save(Claim{Name: named(fmt.Sprint(i)), UID: types.UID(fmt.Sprint(i)), Created: start, Items: Listed(list(i, 1)), Deleting: true})
	}
	for left := claims; left > 0; {
		<-synced
		mu.Lock()
		left = len(store)
		mu.Unlock()
	}
	queue.ShutDown()
	wg.Wait()
	if len(b.objects) > 0 || len(e.x.nodes) > 0 {
		t.Fatalf("left: %v, %d nodes", b.objects, len(e.x.nodes))
	}
}

func sum(counts map[State]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// TestDriftWhileClaimsChange runs drift checks, which read without the lock, while the same resources are listed again.
func TestDriftWhileClaimsChange(t *testing.T) {
	e := New(newFake(), Options{Mode: Repair, Concurrency: 2})
	change := func(v int) {
		for i := range 20 {
			own := fmt.Sprint("b", i)
			e.Observe(Claim{Name: named(own), UID: uidOf(own), Items: Listed{table("t", v), box(own, v, "Table/t"), port(own, "p"+own, v), plug("h", "p"+own, []string{"Port/p" + own}, nil)}})
		}
	}
	change(0)
	for _, name := range []string{"b0", "b1", "b2"} {
		if _, err := e.Push(context.Background(), named(name)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for v := range 50 {
			change(v)
		}
	})
	for range 50 {
		if _, err := e.Drift(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
