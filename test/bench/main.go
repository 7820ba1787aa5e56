// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Groundskeeper on a local control plane: real binaries, loopback, a directory that is thrown away. It
// prints each figure for users on stderr and as a line of JSON on stdout, and fails when a figure misses its goal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/bench/sidebyside"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	projects := flag.Int("projects", projectsOfTheGoals, "how many Projects to create")
	workers := flag.Int("workers", 16, "number of concurrent clients")
	services := flag.Int("services", servicesOfTheGoals, "how many Services to translate, with as many Pods, or to discover")
	drained := flag.Int("drained-services", servicesOfMaintenance, "how many Services without an alternative to drain")
	bound := flag.Int("bound-projects", 0, "membership: measure RBAC also with the ClusterRoleBindings of that many Projects")
	only := flag.String("only", "", "the one benchmark to run: projects, membership, localvolume, translations, translations-engine, ovn, "+
		"discoverer, maintenance, maintenance-services, klusters, console or sidebyside; empty: all")
	compared := sidebyside.Options{}
	flag.IntVar(&compared.Rounds, "rounds", 5, "sidebyside: how often each contender has its turn")
	flag.IntVar(&compared.Objects, "objects", 500, "sidebyside: how many objects live in each round")
	lenient := flag.Bool("lenient", false, "do not fail when a figure misses its goal")
	timeout := flag.Duration("timeout", 3*time.Hour, "when to give up")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	reporter := &report.Reporter{Users: os.Stderr, Programs: os.Stdout}
	known := false
	for _, benchmark := range []struct {
		name string
		run  func() error
	}{
		{"projects", func() error { return benchmarkProjects(ctx, reporter, *projects, *workers) }},
		{benchmarkMembershipName, func() error { return benchmarkMembership(ctx, reporter, *projects, *bound, *workers) }},
		{"localvolume", func() error { return benchmarkLocalVolumes(ctx, reporter) }},
		{benchmarkTranslationsName, func() error { return benchmarkTranslations(ctx, reporter, *services) }},
		{benchmarkOVNName, func() error { return benchmarkOVN(ctx, reporter, *services, *only != "") }},
		{benchmarkDiscovererName, func() error { return benchmarkDiscoverer(ctx, reporter, *services) }},
		{benchmarkMaintenanceName, func() error { return benchmarkMaintenance(ctx, reporter, *workers) }},
		{benchmarkWithheldName, func() error { return benchmarkWithheld(ctx, reporter, *drained, *workers) }},
		{benchmarkKlustersName, func() error { return benchmarkKlusters(ctx, reporter) }},
		{benchmarkConsoleName, func() error { return benchmarkConsole(ctx, reporter) }},
		{"sidebyside", func() error { compared.Workers = *workers; return sidebyside.Run(ctx, reporter, compared) }},
		{benchmarkEngineName, func() error { return benchmarkEngine(ctx, reporter, *services) }},
	} {
		if *only != "" && *only != benchmark.name {
			continue
		}
		known = true
		if err := loaded(reporter, benchmark.name, benchmark.run); err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("-only: there is no benchmark %q", *only)
	}
	if n := reporter.Missed(); n > 0 && !*lenient {
		return fmt.Errorf("%d figures missed their goals", n)
	}
	return nil
}

// loaded runs a benchmark, and records the load and the speed of the machine: the load average before it is that of other
// processes, the one after it that of the benchmark.
func loaded(reporter *report.Reporter, name string, run func() error) error {
	publish := func(when string) error {
		load, err := probe.Load()
		if err != nil {
			return err
		}
		speed, err := probe.Speed()
		if err != nil {
			return err
		}
		return errors.Join(
			reporter.Add(report.Figure{Benchmark: name, Name: report.LoadAverage + ", " + when, Value: load, Unit: "1"}),
			reporter.Add(report.Figure{Benchmark: name, Name: report.Speed + ", " + when, Value: float64(speed.Microseconds()) / 1000, Unit: "ms"}),
		)
	}
	if err := publish("before"); err != nil {
		return err
	}
	if err := run(); err != nil {
		return err
	}
	return publish("after")
}
