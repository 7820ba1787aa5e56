// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
)

const (
	// restartPoll is how often a restarted manager is checked.
	restartPoll = 100 * time.Millisecond
	// restartQuiet is how long nothing must be queried of the backend until the first comparison is taken to be over.
	restartQuiet = 5 * time.Second
)

// restart kills the manager and measures what the next one does about a network that is in sync.
func (n *translatedNetwork) restart(ctx context.Context, translations int) error {
	if err := n.Managers[0].Kill(ctx); err != nil {
		return err
	}
	if err := n.fake.clear(ctx); err != nil {
		return err
	}
	before, err := networkUsage(n.Plane)
	if err != nil {
		return err
	}
	writesBefore, err := writesOfTranslations(ctx, n.Plane)
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
	compared, requests, err := n.untilQuiet(ctx)
	if err != nil {
		return err
	}
	after, err := networkUsage(n.Plane)
	if err != nil {
		return err
	}
	writes, err := writesOfTranslations(ctx, n.Plane)
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
	figures := []report.Figure{
		{Name: "translations in sync", Value: float64(translations), Unit: "1"},
		{Name: "time until the new manager leads: its predecessor was killed", Value: leading.Sub(start).Seconds(), Unit: "s"},
		{Name: "time from then until all of the backend was read", Value: compared.Sub(leading).Seconds(), Unit: "s"},
		{Name: "writes to the backend", Value: float64(requests.of(isWrite)), Unit: "1", Goal: new(0.0)},
		{Name: "requests rejected by the backend", Value: float64(requests.of(isRejected)), Unit: "1", Goal: new(0.0)},
		{Name: "lists of the backend", Value: float64(requests.of(isListing)), Unit: "1"},
		{Name: "reads of resources that are in no list", Value: float64(requests.of(isSingleRead)), Unit: "1"},
		{Name: "writes of translations to the API server", Value: writes.minus(writesBefore).all(), Unit: "1", Goal: new(0.0)},
		{Name: "resources found to differ", Value: drift, Unit: "1", Goal: new(0.0)},
	}
	return n.add(benchmarkTranslationsRestartName, append(figures, usageFigures(before, after)...))
}

// untilLeading waits until the manager has the Lease, and returns when it had.
func (n *translatedNetwork) untilLeading(ctx context.Context) (time.Time, error) {
	err := wait.PollUntilContextCancel(ctx, restartPoll, true, func(ctx context.Context) (bool, error) {
		leads, err := n.managerMetric(ctx, "leader_election_master_status")
		return err == nil && leads > 0, nil // it may not serve yet
	})
	return time.Now(), err
}

// untilQuiet waits until the backend is not queried more, and returns when it was last queried, and for what.
func (n *translatedNetwork) untilQuiet(ctx context.Context) (last time.Time, requests backendRequests, err error) {
	seen := 0
	err = wait.PollUntilContextCancel(ctx, restartPoll, true, func(ctx context.Context) (bool, error) {
		var err error
		if requests, err = n.fake.requests(ctx); err != nil {
			return false, err
		}
		all := 0
		for _, count := range requests {
			all += count
		}
		if all != seen {
			seen, last = all, time.Now()
		}
		return seen > 0 && time.Since(last) > restartQuiet, nil
	})
	return last, requests, err
}

// managerMetric returns the sum of the samples of a metric of the manager. It is an error when there is none.
func (n *translatedNetwork) managerMetric(ctx context.Context, metric string) (float64, error) {
	samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+n.Managers[0].Address()+"/metrics", metric)
	if err == nil && len(samples) == 0 {
		err = errors.New("there is none")
	}
	if err != nil {
		return 0, fmt.Errorf("metric %s of the manager: %w", metric, err)
	}
	sum := 0.0
	for _, s := range samples {
		sum += s.Value
	}
	return sum, nil
}
