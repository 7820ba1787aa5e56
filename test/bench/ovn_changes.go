// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

const (
	// changesPerSecond is how many EndpointSlices get another endpoint each second, and changesFor for how long.
	changesPerSecond = 100
	changesFor       = time.Minute
	// changeWorkers is how many clients change them.
	changeWorkers = 16
)

// restart kills the manager and measures what the next one does about a database that is in sync.
func (n *ovnNetwork) restart(ctx context.Context, translations int) error {
	if err := n.Managers[0].Kill(ctx); err != nil {
		return err
	}
	before, err := n.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := n.Managers[0].Start(ctx); err != nil {
		return err
	}
	leading, err := n.untilLeading(ctx)
	if err != nil {
		return err
	}
	compared, err := n.untilQuiet(ctx)
	if err != nil {
		return err
	}
	after, err := n.read(ctx)
	if err != nil {
		return err
	}
	drift, err := n.managerMetric(ctx, "groundskeeper_translation_drift_found_total")
	if err != nil {
		return err
	}
	if _, _, err := n.tracker.until(ctx, translations); err != nil {
		return err
	}
	if _, _, err := n.realized.until(ctx, translations); err != nil {
		return err
	}
	figures := []report.Figure{
		{Name: "translations in sync", Value: float64(translations), Unit: "1"},
		{Name: "time until the new manager leads: its predecessor was killed", Value: leading.Sub(start).Seconds(), Unit: "s"},
		{Name: "time from then until all of the database was compared", Value: compared.Sub(leading).Seconds(), Unit: "s"},
		{Name: "rows changed in the database", Value: float64(after.rows - before.rows), Unit: "1", Goal: new(0.0)},
		{Name: "transactions, all of which read", Value: after.requests, Unit: "1"},
		{Name: "writes of translations to the API server", Value: after.writes.minus(before.writes).all(), Unit: "1", Goal: new(0.0)},
		{Name: "rows found to differ", Value: drift, Unit: "1", Goal: new(0.0)},
	}
	return n.add(benchmarkOVNRestartName, append(figures, usageFigures(before.usage, after.usage)...))
}

// untilQuiet waits until the manager has compared the database and sends no more requests, and returns when it sent the last one.
func (n *ovnNetwork) untilQuiet(ctx context.Context) (last time.Time, err error) {
	seen := 0.0
	err = wait.PollUntilContextCancel(ctx, restartPoll, true, func(ctx context.Context) (bool, error) {
		passes, err := n.managerMetric(ctx, "groundskeeper_translation_drift_passes_total")
		if err != nil || passes == 0 {
			return false, nil //nolint:nilerr // there is none before the first one
		}
		requests, err := n.managerMetric(ctx, requestsMetric)
		if err != nil {
			return false, err
		}
		if requests != seen {
			seen, last = requests, time.Now()
		}
		return time.Since(last) > restartQuiet, nil
	})
	return last, err
}

// changes has EndpointSlices get another endpoint, so many each second, and measures when the database has it.
func (n *ovnNetwork) changes(ctx context.Context, objects *ovnObjects, translations int) error {
	ids, err := n.rows.balancers(ctx)
	if err != nil {
		return err
	}
	before, err := n.read(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	overtaken, err := n.change(ctx, objects, ids)
	if err != nil {
		return err
	}
	changed := time.Now()
	lags, err := n.rows.rest(ctx)
	if err != nil {
		return err
	}
	arrived := time.Now()
	if _, _, err := n.tracker.until(ctx, translations); err != nil {
		return err
	}
	_, realized, err := n.realized.until(ctx, translations)
	if err != nil {
		return err
	}
	after, err := n.read(ctx)
	if err != nil {
		return err
	}
	number := float64(changesPerSecond * int(changesFor.Seconds()))
	lag := func(part float64) float64 {
		return float64(lags[int(part*float64(len(lags)-1))].Microseconds()) / 1000
	}
	figures := []report.Figure{
		{Name: "changes of endpoints", Value: number, Unit: "1"},
		{Name: "changes per second", Value: number / changed.Sub(start).Seconds(), Unit: "1"},
		{Name: "time until the database has a change, median", Value: lag(0.5), Unit: "ms"},
		{Name: "time until the database has a change, 99th percentile", Value: lag(0.99), Unit: "ms"},
		{Name: "time until the database has a change, the longest", Value: lag(1), Unit: "ms"},
		{Name: "changes that the database did not have before the next one of the same service", Value: float64(overtaken), Unit: "1"},
		{Name: "time from the last change until the database has all", Value: arrived.Sub(changed).Seconds(), Unit: "s"},
		{Name: "time from the last change until all translations are realized", Value: realized.Sub(changed).Seconds(), Unit: "s"},
		{Name: "transactions per change", Value: (after.requests - before.requests) / number, Unit: "1"},
		{Name: "rows changed in the database per change", Value: float64(after.rows-before.rows) / number, Unit: "1"},
		{Name: "writes to the API server per change", Value: after.writes.minus(before.writes).all() / number, Unit: "1"},
	}
	return n.add(benchmarkOVNChangesName, append(figures, usageFigures(before.usage, after.usage)...))
}

// change makes the changes, and returns how many came before the database had the one before of the same service.
func (n *ovnNetwork) change(ctx context.Context, objects *ovnObjects, ids map[string]string) (overtaken int64, err error) {
	var group sync.WaitGroup
	var late atomic.Int64
	number := changesPerSecond * int(changesFor.Seconds())
	// All of them have room, so that slow clients do not reduce the rate.
	numbers, failed := make(chan int, number), make(chan error, changeWorkers)
	for range changeWorkers {
		group.Go(func() {
			for i := range numbers {
				is, err := n.changeOne(ctx, objects, ids, i)
				if err != nil {
					failed <- err
					return
				}
				if is {
					late.Add(1)
				}
			}
		})
	}
	ticks := time.NewTicker(time.Second / changesPerSecond)
	defer ticks.Stop()
	for i := range number {
		select {
		case <-ticks.C:
			numbers <- i
			continue
		case err = <-failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		break
	}
	close(numbers)
	group.Wait()
	close(failed)
	return late.Load(), errors.Join(err, <-failed)
}

// changeOne replaces the first endpoint of a service by one that it never had. The time of the request is part of the lag.
func (n *ovnNetwork) changeOne(ctx context.Context, objects *ovnObjects, ids map[string]string, number int) (overtaken bool, err error) {
	i, round := number%n.services, number/n.services
	slice := objects.slices[i]
	name := strings.Join([]string{slice.Namespace, slice.Name, "tcp"}, "/")
	id, found := ids[name]
	if !found {
		return false, fmt.Errorf("there is no load balancer %s", name)
	}
	address := podIP((i*endpointsPerService + endpointsPerService + round) % n.services)
	slice.Endpoints[0].Addresses = []string{address}
	overtaken = n.rows.await(id, fmt.Sprintf("%s:%d", address, *slice.Ports[0].Port))
	objects.slices[i], err = objects.kube.DiscoveryV1().EndpointSlices(slice.Namespace).Update(ctx, slice, metav1.UpdateOptions{})
	return overtaken, err
}
