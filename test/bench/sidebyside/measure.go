// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/plane"
)

// each performs n operations, each with the next free client.
func each(ctx context.Context, clients []*client, n int, operation func(ctx context.Context, client *client, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for _, client := range clients {
		group.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := operation(ctx, client, i); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// measured performs n operations and returns the CPU time of the processes for one of them, without the first ones, in milliseconds.
func measured(
	ctx context.Context, clients []*client, warmUp, n int, processes []*plane.Process, operation func(context.Context, *client, int) error,
) (float64, error) {
	if err := each(ctx, clients, warmUp, operation); err != nil {
		return 0, err
	}
	before, err := cpuOf(processes)
	if err != nil {
		return 0, err
	}
	err = each(ctx, clients, n-warmUp, func(ctx context.Context, client *client, i int) error { return operation(ctx, client, warmUp+i) })
	if err != nil {
		return 0, err
	}
	after, err := cpuOf(processes)
	return (after - before).Seconds() * 1000 / float64(n-warmUp), err
}

func cpuOf(processes []*plane.Process) (sum time.Duration, err error) {
	for _, process := range processes {
		used, err := probe.UsageOf(process.PID())
		if err != nil {
			return 0, err
		}
		sum += used.CPU
	}
	return sum, nil
}

// median returns the middle of the values of several rounds.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return 0
	}
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle] + values[middle-1]) / 2
	}
	return values[middle]
}
