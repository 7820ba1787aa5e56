// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"

	"groundskeeper.io/groundskeeper/test/bench/probe"
)

// requestTally is how many requests a cloud got, by service; "refused" are those of all that it rejected.
type requestTally map[string]float64

const rejected = "refused"

// take adds the requests since the last call for the same cloud.
func (t requestTally) take(cloud *fake.Server) {
	for _, request := range cloud.Requests() {
		service, _, _ := strings.Cut(strings.TrimPrefix(request.Path, "/"), "/")
		t[service]++
		if request.Status >= http.StatusBadRequest {
			t[rejected]++
		}
	}
}

// sum returns the requests of all services.
func (t requestTally) sum() float64 {
	sum := 0.0
	for service, n := range t {
		if service != rejected {
			sum += n
		}
	}
	return sum
}

// klusterReading is what happened in a span of time.
type klusterReading struct {
	took     time.Duration
	requests requestTally
	cpu      time.Duration
	memory   probe.Usage
	writes   float64
}

// read measures what happened since a time; CPU and writes are since the manager began.
func (k *klusters) read(ctx context.Context, cloud *fake.Server, since time.Time) (klusterReading, error) {
	r := klusterReading{took: time.Since(since), requests: requestTally{}}
	r.requests.take(cloud)
	var err error
	if r.memory, err = probe.UsageOf(k.Managers[0].PID()); err != nil {
		return r, err
	}
	r.cpu = r.memory.CPU
	r.writes, err = writesOf(ctx, k.Managers[0])
	return r, err
}

// Reports a reading.
func (k *klusters) publish(when string, r klusterReading, goalWrites *float64) error {
	// A bucket of tokens lets its burst through on top of its rate.
	most := math.Ceil(requestsOfKlusters + requestsOfKlusters/r.took.Seconds())
	if err := k.add("", "requests to OpenStack per second "+when, r.requests.sum()/r.took.Seconds(), "1", &most); err != nil {
		return err
	}
	for _, service := range slices.Sorted(maps.Keys(r.requests)) {
		if service == rejected {
			continue
		}
		if err := k.add("", fmt.Sprintf("requests to %s per second %s", service, when), r.requests[service]/r.took.Seconds(), "1", nil); err != nil {
			return err
		}
	}
	manager := k.Managers[0].Name()
	for _, figure := range []struct {
		process, name string
		value         float64
		unit          string
		goal          *float64
	}{
		{"", "requests rejected by OpenStack " + when, r.requests[rejected], "1", new(goalNone)},
		{"", "writes per kluster " + when, r.writes / klustersOfTheGoals, "1", goalWrites},
		{manager, "CPU " + when, r.cpu.Seconds(), "CPU-s", nil},
		{manager, "resident memory " + when, r.memory.RSS, "MiB", nil},
		{manager, "most resident memory " + when, r.memory.Peak, "MiB", nil},
	} {
		if err := k.add(figure.process, figure.name, figure.value, figure.unit, figure.goal); err != nil {
			return err
		}
	}
	return nil
}

// passes waits until the manager has made at least so many reconciliations over routers, and returns them and the checks clouds.
func (k *klusters) passes(ctx context.Context, least float64) (passes, looks float64, err error) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if passes, err = k.metric(ctx, "groundskeeper_routegc_passes_total", "", ""); err != nil {
			return 0, 0, err
		}
		if passes >= least {
			looks, err = k.metric(ctx, "groundskeeper_kluster_looks_total", "target", "openstack")
			return passes, looks, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
	}
}

// metric returns the sum of the samples of a metric of the manager, of those with a label if there is one.
func (k *klusters) metric(ctx context.Context, name, label, value string) (float64, error) {
	samples, err := probe.Scrape(ctx, http.DefaultClient, "http://"+k.Managers[0].Address()+"/metrics", name)
	sum := 0.0
	for _, s := range samples {
		if s.Labels[label] == value {
			sum += s.Value
		}
	}
	return sum, err
}
