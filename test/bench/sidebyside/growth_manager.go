// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
)

const (
	// goalManager is the most memory of Groundskeeper's controller manager, in MiB.
	goalManager = 400.0
	// resourcesEach is how many backend resources newTranslation lists.
	resourcesEach = 2
)

// manages starts Groundskeeper's controller manager, with all its controllers, beside as many Translations, and reads its memory
// when all of them are in the backend: a fake of MidoNet, which has their hosts and, by other Translations, what they are on. Then
// it does so once more beside what is pushed, until all of it was compared with the backend.
func (c *comparison) manages(ctx context.Context, direct contender, objects int) error {
	if err := errors.Join(c.addHosts(ctx), c.addDevices(ctx, direct)); err != nil {
		return err
	}
	resources := objects*resourcesEach + deviceResources
	err := c.managed(ctx, objects, "all Translations are in the backend", func() error { return c.untilPushed(ctx, resources) })
	if err != nil {
		return err
	}
	if err := c.Managers[0].Stop(ctx); err != nil {
		return err
	}
	return c.managed(ctx, objects, "all of them are compared after a restart", func() error {
		return errors.Join(c.untilPushed(ctx, resources), c.untilCompared(ctx))
	})
}

// managed starts the manager, and measures the time until a condition holds, and the memory.
func (c *comparison) managed(ctx context.Context, objects int, what string, until func() error) error {
	manager := c.Managers[0]
	start := time.Now()
	if err := manager.Start(ctx); err != nil {
		return err
	}
	if err := manager.Ready(ctx); err != nil {
		return err
	}
	if err := until(); err != nil {
		return err
	}
	took := time.Since(start)
	used, err := probe.UsageOf(manager.PID())
	if err != nil {
		return err
	}
	for _, f := range []report.Figure{
		{Name: "time until " + what, Value: took.Seconds(), Unit: "s"},
		{Name: "resident memory when " + what, Value: used.RSS, Unit: "MiB", Goal: new(goalManager)},
		{Name: "most resident memory until " + what, Value: used.Peak, Unit: "MiB", Goal: new(goalManager)},
	} {
		f.Benchmark, f.Process, f.Name, f.Objects = benchmark, manager.Name(), growing+f.Name, objects
		if err := c.reporter.Add(f); err != nil {
			return err
		}
	}
	return nil
}

// untilCompared waits until the manager has compared all of the backend once.
func (c *comparison) untilCompared(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Minute, true, func(ctx context.Context) (bool, error) {
		samples, err := c.scrapeManager(ctx, "groundskeeper_translation_drift_passes_total")
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(samples, func(s probe.Sample) bool { return s.Labels["outcome"] == "done" && s.Value > 0 }), nil
	})
	if err != nil {
		return fmt.Errorf("the backend is not compared: %w", err)
	}
	return nil
}

// scrapeManager reads a metric of the manager.
func (c *comparison) scrapeManager(ctx context.Context, name string) ([]probe.Sample, error) {
	return probe.Scrape(ctx, http.DefaultClient, "http://"+c.Managers[0].Address()+"/metrics", name)
}

// untilPushed waits until the backend has as many resources. Those that every cluster has come on top.
func (c *comparison) untilPushed(ctx context.Context, resources int) error {
	var states map[string]float64
	err := wait.PollUntilContextTimeout(ctx, time.Second, 30*time.Minute, true, func(ctx context.Context) (bool, error) {
		samples, err := c.scrapeManager(ctx, "groundskeeper_translation_resources")
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
