// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

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
	// goalManager is the most memory of our controller manager, in MiB.
	goalManager = 250.0
	// resourcesEach is how many backend resources newTranslation lists.
	resourcesEach = 2
)

// manages starts our controller manager, with all its controllers, beside as many Translations, and reads its memory when
// all of them are in the backend: a fake of MidoNet, which has their hosts and, by other Translations, what they are on.
func (c *comparison) manages(ctx context.Context, direct contender, objects int) error {
	if err := errors.Join(c.addHosts(ctx), c.addDevices(ctx, direct)); err != nil {
		return err
	}
	manager := c.Managers[0]
	start := time.Now()
	if err := manager.Start(ctx); err != nil {
		return err
	}
	if err := manager.Ready(ctx); err != nil {
		return err
	}
	if err := c.untilPushed(ctx, objects*resourcesEach+deviceResources); err != nil {
		return err
	}
	took := time.Since(start)
	used, err := probe.UsageOf(manager.PID())
	if err != nil {
		return err
	}
	for _, f := range []report.Figure{
		{Name: "time until all Translations are in the backend", Value: took.Seconds(), Unit: "s"},
		{Name: "resident memory when all are", Value: used.RSS, Unit: "MiB", Goal: new(goalManager)},
		{Name: "most resident memory", Value: used.Peak, Unit: "MiB", Goal: new(goalManager)},
	} {
		f.Benchmark, f.Process, f.Name, f.Objects = benchmark, manager.Name(), growing+f.Name, objects
		if err := c.reporter.Add(f); err != nil {
			return err
		}
	}
	return nil
}

// untilPushed waits until the backend has as many resources. Those that every cluster has come on top.
func (c *comparison) untilPushed(ctx context.Context, resources int) error {
	var states map[string]float64
	err := wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Minute, true, func(ctx context.Context) (bool, error) {
		samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+c.Managers[0].Address()+"/metrics", "groundskeeper_translation_resources")
		if err != nil {
			return false, err
		}
		states = map[string]float64{}
		for _, s := range samples {
			states[s.Labels["state"]] = s.Value
		}
		return states["Synced"] >= float64(resources) && states["Pending"] == 0, nil
	})
	if err != nil {
		return fmt.Errorf("not all of %d resources are in the backend, but %v: %w", resources, states, err)
	}
	return nil
}
