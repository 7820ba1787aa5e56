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

// Goals, as parts of what the CustomResourceDefinition takes, and for users of what the administrator does.
const (
	goalAggregated = 1.0
	goalDirect     = 0.5
	goalHeap       = 1.0 / 3
	goalStored     = 0.75
	goalFanOut     = 0.5
	// goalOrdinary is the time of an operation of an ordinary user whose rate is 10 % below an administrator's.
	goalOrdinary = 1 / 0.9
)

const (
	crdName    = "CRD, JSON"
	ownName    = "Groundskeeper"
	etcdSeries = "etcd"
)

// rounds are the runs of one operation, by contender.
type rounds map[string][]run

// cycles lets each contender run its operations for each of the users, and returns the duration of each operation. All contenders
// run one operation before the next one: the speed of a machine changes within minutes, so compared measurements have to be close.
func (c *comparison) cycles(ctx context.Context, users []string, workers int) error {
	results := map[string]map[string]rounds{} // by user and operation
	for round := range c.Rounds {
		turns, err := c.turns(ctx, users, workers)
		if err != nil {
			return err
		}
		for step, operation := range operations {
			random := rand.New(rand.NewPCG(uint64(round), uint64(step))) // Always first, or always behind the same one
			for _, i := range random.Perm(len(turns)) {
				turn := turns[i]
				r, err := turn.run(ctx, operation)
				if err != nil {
					return fmt.Errorf("%s, %s: %s: %w", turn.name, turn.user, operation, err)
				}
				if results[turn.user] == nil {
					results[turn.user] = map[string]rounds{}
				}
				if results[turn.user][operation] == nil {
					results[turn.user][operation] = rounds{}
				}
				results[turn.user][operation][turn.name] = append(results[turn.user][operation][turn.name], r)
			}
		}
		for _, turn := range turns {
			closeAll(turn.clients)
		}
	}
	for _, user := range users {
		for _, operation := range operations {
			if err := c.report(named(operation, workers, user), results[user][operation]); err != nil {
				return err
			}
		}
	}
	if !slices.Contains(users, ordinary) {
		return nil
	}
	for _, operation := range operations {
		if err := c.compareUsers(named(operation, workers, ordinary), results[administrator][operation], results[ordinary][operation]); err != nil {
			return err
		}
	}
	return nil
}

// turns returns a cycle for each contender and user, each in a dedicated namespace.
func (c *comparison) turns(ctx context.Context, users []string, workers int) ([]*cycle, error) {
	var turns []*cycle
	for _, user := range users {
		all, err := contenders(c.Plane, user)
		if err != nil {
			return nil, err
		}
		for _, contender := range all {
			space, err := c.space(ctx)
			if err != nil {
				return nil, err
			}
			turn, err := newCycle(contender, user, profiler{c.Plane, c.Profiles}, space, c.Objects, workers)
			if err != nil {
				return nil, err
			}
			turns = append(turns, turn)
		}
	}
	return turns, nil
}

// named returns the name of an operation in reports.
func named(operation string, workers int, user string) string {
	name := fmt.Sprintf("%s, %d concurrent", operation, workers)
	if user != administrator {
		name += ", " + user
	}
	return name
}

// report writes the figures of an operation: rate, latencies, CPU of each process, and how Groundskeeper's compare.
func (c *comparison) report(operation string, results rounds) error {
	for _, name := range order(results) {
		runs := results[name]
		add := func(what, unit string, of func(run) float64) error {
			s := spreadOf(valuesOf(runs, of))
			return c.reporter.Add(report.Figure{
				Benchmark: benchmark, Series: name, Name: operation + ": " + what, Value: s.median, Unit: unit, Least: &s.least, Most: &s.most,
			})
		}
		if err := add("rate", "1/s", run.rate); err != nil {
			return err
		}
		for _, p := range []struct {
			name  string
			share float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
			if err := add(p.name, "ms", func(r run) float64 { return milliseconds(r.percentile(p.share)) }); err != nil {
				return err
			}
		}
		for _, process := range slices.Sorted(maps.Keys(runs[0].cpu)) {
			if err := add("CPU of "+process, "ms", func(r run) float64 { return milliseconds(r.cpu[process]) / float64(r.operations) }); err != nil {
				return err
			}
		}
		if name == etcdSeries {
			continue // without an API server
		}
		if err := add("CPU of the API servers", "ms", run.serversEach); err != nil {
			return err
		}
	}
	for _, name := range own(results) {
		goal := goalAggregated
		if strings.HasPrefix(name, "direct") {
			goal = goalDirect
		}
		if err := c.compare(name, operation+": CPU of the API servers", ratios(results[name], results[crdName], run.serversEach), goal); err != nil {
			return err
		}
	}
	return nil
}

// compare reports parts of what the CustomResourceDefinition takes. Without any there is nothing to compare.
func (c *comparison) compare(name, what string, of []float64, goal float64) error {
	return c.ratio(name, what+", relative to the CRD's", of, goal)
}

// compareUsers records how much longer an operation of the ordinary user takes.
func (c *comparison) compareUsers(operation string, administrators, ordinaries rounds) error {
	each := func(r run) float64 { return 1 / r.rate() }
	for _, name := range own(ordinaries) {
		if err := c.ratio(name, operation+": time of one, relative to the administrator's", ratios(ordinaries[name], administrators[name], each), goalOrdinary); err != nil {
			return err
		}
	}
	return nil
}

// ratio records the median of ratios, and their bounds if there are several.
func (c *comparison) ratio(name, what string, of []float64, goal float64) error {
	if len(of) == 0 {
		return nil
	}
	s := spreadOf(of)
	f := report.Figure{Benchmark: benchmark, Series: name, Name: what, Value: s.median, Unit: "1", Goal: &goal}
	if len(of) > 1 {
		f.Least, f.Most = &s.least, &s.most
	}
	return c.reporter.Add(f)
}

// ratios returns the figures of one contender's rounds as parts of another's, round by round: what slowed down a machine for a
// while slowed down both. A round in which the other one has none has no ratio.
func ratios(runs, others []run, of func(run) float64) (all []float64) {
	for i := range min(len(runs), len(others)) {
		if other := of(others[i]); other > 0 {
			all = append(all, of(runs[i])/other)
		}
	}
	return all
}

// rate is how many operations were made in a second.
func (r run) rate() float64 { return float64(r.operations) / r.elapsed.Seconds() }

// serversEach is how many milliseconds of CPU time the API servers used for an operation.
func (r run) serversEach() float64 { return milliseconds(r.servers()) / float64(r.operations) }

// servers returns the CPU time of the processes without etcd's.
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

// Groundskeeper's are the names of all contenders but the one that they are compared with, in the same order.
func own(results rounds) []string {
	return slices.DeleteFunc(order(results), func(name string) bool { return name == crdName || name == etcdSeries })
}

func valuesOf(runs []run, of func(run) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	return values
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
