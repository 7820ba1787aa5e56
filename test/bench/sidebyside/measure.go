// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/plane"
)

// run has the measurements of one round of an operation.
type run struct {
	// operations is the number of operations in elapsed, latencies are their sorted durations.
	operations int
	elapsed    time.Duration
	latencies  []time.Duration
	// cpu is the CPU time of each process by name.
	cpu map[string]time.Duration
}

// each performs n operations, each with the next free client, and returns their durations.
func each[C any](ctx context.Context, clients []C, n int, operation func(ctx context.Context, client C, i int) error) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	latencies := make([]time.Duration, n)
	failures := make([]error, len(clients))
	var next atomic.Int64
	var workers sync.WaitGroup
	for w, client := range clients {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				start := time.Now()
				if err := operation(ctx, client, i); err != nil {
					failures[w] = err
					cancel()
					return
				}
				latencies[i] = time.Since(start)
			}
		})
	}
	workers.Wait()
	return latencies, errors.Join(failures...)
}

// measured performs n operations and measures all except the first warmUp ones.
func measured[C any](ctx context.Context, clients []C, warmUp, n int, processes []*plane.Process, operation func(ctx context.Context, client C, i int) error) (run, error) {
	if _, err := each(ctx, clients, warmUp, operation); err != nil {
		return run{}, err
	}
	before, err := cpuOf(processes)
	if err != nil {
		return run{}, err
	}
	start := time.Now()
	latencies, err := each(ctx, clients, n-warmUp, func(ctx context.Context, client C, i int) error { return operation(ctx, client, warmUp+i) })
	if err != nil {
		return run{}, err
	}
	r := run{operations: n - warmUp, elapsed: time.Since(start), latencies: latencies, cpu: map[string]time.Duration{}}
	after, err := cpuOf(processes)
	if err != nil {
		return run{}, err
	}
	for name, used := range after {
		r.cpu[name] = used - before[name]
	}
	slices.Sort(r.latencies)
	return r, nil
}

func cpuOf(processes []*plane.Process) (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for _, process := range processes {
		u, err := probe.UsageOf(process.PID())
		if err != nil {
			return nil, err
		}
		used[process.Name()] = u.CPU
	}
	return used, nil
}

// percentile returns the latency that the given share of all operations did not exceed.
func (r run) percentile(share float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(int(share*float64(len(r.latencies))), len(r.latencies)-1)]
}

// spread has the minimum, median and maximum of several rounds.
type spread struct{ least, median, most float64 }

func spreadOf(values []float64) spread {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return spread{}
	}
	middle := values[len(values)/2]
	if len(values)%2 == 0 {
		middle = (middle + values[len(values)/2-1]) / 2
	}
	return spread{values[0], middle, values[len(values)-1]}
}
