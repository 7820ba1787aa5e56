// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEach(t *testing.T) {
	const n = 100
	var mu sync.Mutex
	made := map[int]int{}
	latencies, err := each(t.Context(), []string{"a", "b", "c"}, n, func(_ context.Context, client string, i int) error {
		mu.Lock()
		defer mu.Unlock()
		made[i]++
		return nil
	})
	if err != nil || len(latencies) != n || len(made) != n {
		t.Errorf("%d operations with %d latencies: %v", len(made), len(latencies), err)
	}
	for i, times := range made {
		if times != 1 || i < 0 || i >= n {
			t.Errorf("operation %d was made %d times", i, times)
		}
	}
}

// TestEachTogether checks that clients run concurrently: each waits for the others.
func TestEachTogether(t *testing.T) {
	var all sync.WaitGroup
	all.Add(3)
	if _, err := each(t.Context(), make([]int, 3), 3, func(context.Context, int, int) error {
		all.Done()
		all.Wait()
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestEachFails checks that a failure ends the other clients and is returned.
func TestEachFails(t *testing.T) {
	failure := errors.New("refused")
	latencies, err := each(t.Context(), []int{0, 1}, 1000, func(ctx context.Context, _, i int) error {
		if i == 3 {
			return failure
		}
		if i > 3 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	if !errors.Is(err, failure) || len(latencies) != 1000 {
		t.Errorf("%d latencies, %v", len(latencies), err)
	}
}

func TestMeasuredWarmsUp(t *testing.T) {
	var made []int
	r, err := measured(t.Context(), []int{0}, 2, 5, nil, func(_ context.Context, _, i int) error {
		made = append(made, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, made); diff != "" {
		t.Error(diff)
	}
	if r.operations != 3 || len(r.latencies) != 3 {
		t.Errorf("%d operations, %d latencies are counted", r.operations, len(r.latencies))
	}
}

func TestPercentile(t *testing.T) {
	var r run
	if got := r.percentile(0.5); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	for i := range 100 {
		r.latencies = append(r.latencies, time.Duration(i+1))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.9: 91, 0.99: 100, 1: 100} {
		if got := r.percentile(share); got != want {
			t.Errorf("percentile %g is %d, not %d", share, got, want)
		}
	}
}

func TestSpreadOf(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{9, 1, 4}, spread{1, 4, 9}},
		{[]float64{9, 1, 4, 2}, spread{1, 3, 9}},
	} {
		before := append([]float64(nil), test.values...)
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("%v: %+v, not %+v", test.values, got, test.want)
		}
		if diff := cmp.Diff(before, test.values); diff != "" {
			t.Errorf("the values were changed: %s", diff)
		}
	}
}
