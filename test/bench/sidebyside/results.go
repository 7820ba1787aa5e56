// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

// benchmark names all figures of this package.
const benchmark = "sidebyside"

// Goals, as parts of what the CustomResourceDefinition takes.
const (
	goalAggregated = 1.0
	goalDirect     = 0.5
	goalHeap       = 1.0 / 3
	goalStored     = 0.75
	goalFanOut     = 0.5
)

const (
	crdName    = "CRD, JSON"
	oursName   = "ours"
	etcdSeries = "etcd"
)

// rounds are the runs of one operation, by contender.
type rounds map[string][]run

// cycles gives each contender its turns, and reports what each operation took.
func (c *comparison) cycles(ctx context.Context, user string, workers int) error {
	all, err := contenders(c.Plane, user)
	if err != nil {
		return err
	}
	results := map[string]rounds{}
	for round := range c.Rounds {
		order := rand.New(rand.NewPCG(uint64(round), 0)).Perm(len(all)) // nobody is always first, or always behind the same one
		for _, i := range order {
			turn := all[i]
			space, err := c.space(ctx)
			if err != nil {
				return err
			}
			cycle, err := newCycle(turn, profiler{c.Plane, c.Profiles}, space, c.Objects, workers)
			if err != nil {
				return err
			}
			runs, err := cycle.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", turn.name, err)
			}
			for operation, r := range runs {
				if results[operation] == nil {
					results[operation] = rounds{}
				}
				results[operation][turn.name] = append(results[operation][turn.name], r)
			}
		}
	}
	suffix := fmt.Sprintf(", %d at once", workers)
	if user != administrator {
		suffix += ", " + user
	}
	for _, operation := range []string{opCreate, opGet, opUpdate, opApply, opDelete, opDeleteCollection} {
		if err := c.report(operation+suffix, results[operation]); err != nil {
			return err
		}
	}
	return nil
}

// report writes the figures of an operation: rate, latencies, CPU of each process, and how ours compare.
func (c *comparison) report(operation string, results rounds) error {
	cpu := map[string]float64{}
	for _, name := range order(results) {
		runs := results[name]
		add := func(what, unit string, of func(run) float64) (float64, error) {
			s := spreadOf(valuesOf(runs, of))
			return s.median, c.reporter.Add(report.Figure{
				Benchmark: benchmark, Series: name, Name: operation + ": " + what, Value: s.median, Unit: unit, Least: &s.least, Most: &s.most,
			})
		}
		if _, err := add("rate", "1/s", func(r run) float64 { return float64(r.operations) / r.elapsed.Seconds() }); err != nil {
			return err
		}
		for _, p := range []struct {
			name  string
			share float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
			if _, err := add(p.name, "ms", func(r run) float64 { return milliseconds(r.percentile(p.share)) }); err != nil {
				return err
			}
		}
		for _, process := range slices.Sorted(maps.Keys(runs[0].cpu)) {
			if _, err := add("CPU of "+process, "ms", func(r run) float64 { return milliseconds(r.cpu[process]) / float64(r.operations) }); err != nil {
				return err
			}
		}
		var err error
		if cpu[name], err = add("CPU of the API servers", "ms", func(r run) float64 { return milliseconds(r.servers()) / float64(r.operations) }); err != nil {
			return err
		}
	}
	for _, name := range order(results) {
		goal := goalAggregated
		if strings.HasPrefix(name, "direct") {
			goal = goalDirect
		}
		if name == crdName || name == etcdSeries || cpu[crdName] == 0 {
			continue
		}
		if err := c.compare(name, operation+": CPU of the API servers", cpu[name]/cpu[crdName], goal); err != nil {
			return err
		}
	}
	return nil
}

// compare reports a figure as a part of the CustomResourceDefinition's.
func (c *comparison) compare(name, what string, part, goal float64) error {
	return c.reporter.Add(report.Figure{Benchmark: benchmark, Series: name, Name: what + ", as a part of the CRD's", Value: part, Unit: "1", Goal: &goal})
}

// servers is the CPU time of the processes without etcd's.
func (r run) servers() (sum time.Duration) {
	for name, used := range r.cpu {
		if name != etcdSeries {
			sum += used
		}
	}
	return sum
}

// order has the contenders in the order of contenders, and etcd last.
func order(results rounds) []string {
	known := []string{crdName, "aggregated, JSON", "aggregated, protobuf", "direct, JSON", "direct, protobuf", etcdSeries}
	return slices.DeleteFunc(known, func(name string) bool { return len(results[name]) == 0 })
}

func valuesOf(runs []run, of func(run) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return values
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
