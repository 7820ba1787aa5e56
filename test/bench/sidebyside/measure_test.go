// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

func TestEach(t *testing.T) {
	const n = 100
	var mu sync.Mutex
	made := map[int]int{}
	err := each(t.Context(), make([]*client, 3), n, func(_ context.Context, _ *client, i int) error {
		mu.Lock()
		defer mu.Unlock()
		made[i]++
		return nil
	})
	if err != nil || len(made) != n {
		t.Errorf("%d operations: %v", len(made), err)
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
	if err := each(t.Context(), make([]*client, 3), 3, func(context.Context, *client, int) error {
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
	err := each(t.Context(), make([]*client, 2), 1000, func(ctx context.Context, _ *client, i int) error {
		if i == 3 {
			return failure
		}
		if i > 3 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	if !errors.Is(err, failure) {
		t.Error(err)
	}
}

func TestMeasuredWarmsUp(t *testing.T) {
	var made []int
	_, err := measured(t.Context(), make([]*client, 1), 2, 5, nil, func(_ context.Context, _ *client, i int) error {
		made = append(made, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, made); diff != "" {
		t.Error(diff)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 4}, 4}, {[]float64{9, 1, 4, 2}, 3}} {
		before := append([]float64(nil), test.values...)
		if got := median(test.values); got != test.want {
			t.Errorf("%v: %v, not %v", test.values, got, test.want)
		}
		if diff := cmp.Diff(before, test.values); diff != "" {
			t.Errorf("the values were changed: %s", diff)
		}
	}
}

// TestTable checks the row of a measurement, and that a ratio is that of the same round: the second one was slow.
func TestTable(t *testing.T) {
	for name, test := range map[string]struct {
		values values
		goal   float64
		row    string
		missed int
	}{
		"rounds": {
			values{crdName: {2, 20, 2}, jsonName: {1, 10, 100}, protobufName: {0.5, 5, 0.5}}, 0.4,
			"| get, ms | 2.00 | 10.0 | 0.50 | 0.50 | 0.25 |\n", 1,
		},
		"without a goal":     {values{crdName: {100}, protobufName: {300}}, 0, "| get, ms | 100 |  | 300 |  | 3.00 |\n", 0},
		"nothing to compare": {values{crdName: {0}, jsonName: {1}}, 1, "| get, ms | 0.00 | 1.00 |  |  |  |\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &comparison{reporter: &report.Reporter{Users: t.Output(), Programs: t.Output()}}
			if err := c.add("get", "ms", test.goal, test.values); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.row, c.table.String()); diff != "" || c.reporter.Missed() != test.missed {
				t.Errorf("%d goals are missed, want %d: %s", c.reporter.Missed(), test.missed, diff)
			}
		})
	}
}
