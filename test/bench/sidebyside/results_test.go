// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

func TestServers(t *testing.T) {
	r := run{operations: 4, cpu: map[string]time.Duration{etcdSeries: time.Hour, "kube-apiserver": 3 * time.Millisecond, "groundskeeper-apiserver": 5 * time.Millisecond}}
	if got := r.servers(); got != 8*time.Millisecond {
		t.Errorf("the API servers used %s", got)
	}
	if got := r.serversEach(); got != 2 {
		t.Errorf("the API servers used %g ms for each operation", got)
	}
}

func TestOrder(t *testing.T) {
	some := []run{{}}
	results := rounds{etcdSeries: some, "direct, protobuf": some, crdName: some, "aggregated, JSON": nil, "unknown": some}
	if diff := cmp.Diff([]string{crdName, "direct, protobuf", etcdSeries}, order(results)); diff != "" {
		t.Error(diff)
	}
}

// Returns what is reported.
func reported(t *testing.T, publish func(*report.Reporter) error) []report.Figure {
	t.Helper()
	var programs bytes.Buffer
	if err := publish(&report.Reporter{Users: io.Discard, Programs: &programs}); err != nil {
		t.Fatal(err)
	}
	var all []report.Figure
	for decoder := json.NewDecoder(&programs); decoder.More(); {
		var f report.Figure
		if err := decoder.Decode(&f); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func TestCompare(t *testing.T) {
	figures := reported(t, func(r *report.Reporter) error {
		c := &comparison{reporter: r}
		if err := c.compare("direct, JSON", "get: CPU", []float64{0.4}, goalDirect); err != nil {
			return err
		}
		return c.compare("aggregated, JSON", "get: CPU", []float64{1.3, 1.1, 1.2}, goalAggregated)
	})
	want := []report.Figure{
		{Benchmark: benchmark, Series: "direct, JSON", Name: "get: CPU, relative to the CRD's", Value: 0.4, Unit: "1", Goal: new(0.5)},
		{Benchmark: benchmark, Series: "aggregated, JSON", Name: "get: CPU, relative to the CRD's", Value: 1.2, Unit: "1", Least: new(1.1), Most: new(1.3), Goal: new(1.0)},
	}
	if diff := cmp.Diff(want, figures); diff != "" {
		t.Error(diff)
	}
	if !figures[0].Met() || figures[1].Met() {
		t.Error("0.4 of at most 0.5 is met, 1.2 of at most 1 is not")
	}
}

// TestReport checks that each contender is compared with the CustomResourceDefinition: directly against another goal, and the base
// of the comparison and etcd against none, because no API server takes part in etcd's own work.
func TestReport(t *testing.T) {
	took := func(cpu time.Duration) []run {
		return []run{{operations: 10, elapsed: time.Second, cpu: map[string]time.Duration{"kube-apiserver": cpu, etcdSeries: time.Second}}}
	}
	parts := map[string]float64{}
	rates := 0
	for _, f := range reported(t, func(r *report.Reporter) error {
		return (&comparison{reporter: r}).report("get", rounds{
			crdName: took(100 * time.Millisecond), "aggregated, JSON": took(80 * time.Millisecond), "direct, JSON": took(60 * time.Millisecond), etcdSeries: took(0),
		})
	}) {
		switch {
		case f.Series == etcdSeries && f.Name == "get: CPU of the API servers":
			t.Error("etcd alone has a share of API servers")
		case f.Goal != nil:
			parts[f.Series] = f.Value
			if f.Met() != (f.Series == "aggregated, JSON") {
				t.Errorf("%s: %g of at most %g", f.Series, f.Value, *f.Goal)
			}
		case f.Name == "get: rate":
			rates++
			if f.Value != 10 {
				t.Errorf("%s: %g operations per second, not 10", f.Series, f.Value)
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"aggregated, JSON": 0.8, "direct, JSON": 0.6}, parts); diff != "" || rates != 4 {
		t.Errorf("%d rates, %s", rates, diff)
	}
}

// TestRatios checks that ratios are of measurements in the same round.
func TestRatios(t *testing.T) {
	took := func(each ...time.Duration) (all []run) {
		for _, cpu := range each {
			all = append(all, run{operations: 1, elapsed: cpu, cpu: map[string]time.Duration{"kube-apiserver": cpu}})
		}
		return all
	}
	for name, test := range map[string]struct {
		runs, others []run
		want         []float64
	}{
		"round by round":              {took(1*time.Second, 20*time.Second, 3*time.Second), took(2*time.Second, 40*time.Second, 2*time.Second), []float64{0.5, 0.5, 1.5}},
		"a round too short to see":    {took(1*time.Second, 2*time.Second), took(0, 1*time.Second), []float64{2}},
		"a round that was not made":   {took(1*time.Second, 2*time.Second), took(1 * time.Second), []float64{1}},
		"nothing to be compared with": {took(1 * time.Second), nil, nil},
	} {
		if diff := cmp.Diff(test.want, ratios(test.runs, test.others, run.serversEach)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// An ordinary user's operation may take a ninth longer: that is a rate 10 % below.
func TestCompareUsers(t *testing.T) {
	took := func(elapsed time.Duration) []run { return []run{{operations: 10, elapsed: elapsed}} }
	figures := reported(t, func(r *report.Reporter) error {
		return (&comparison{reporter: r}).compareUsers("get, ordinary user",
			rounds{crdName: took(time.Second), "aggregated, JSON": took(time.Second), "direct, JSON": took(time.Second), etcdSeries: took(time.Second)},
			rounds{crdName: took(time.Second), "aggregated, JSON": took(1100 * time.Millisecond), "direct, JSON": took(1200 * time.Millisecond)})
	})
	met := map[string]bool{}
	for _, f := range figures {
		met[f.Series+": "+f.Name] = f.Met()
	}
	const what = ": get, ordinary user: time of one, relative to the administrator's"
	if diff := cmp.Diff(map[string]bool{"aggregated, JSON" + what: true, "direct, JSON" + what: false}, met); diff != "" {
		t.Error(diff)
	}
}
