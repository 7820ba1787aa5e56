// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// watcher reports changes as scripted by a test.
type watcher struct {
	watch func(ctx context.Context, changed func()) error
}

func (w watcher) Watch(ctx context.Context, changed func()) error { return w.watch(ctx, changed) }

// TestChangeLoop checks that changes by other clients request a comparison immediately, at most one per second, and that a failed
// watch is retried.
func TestChangeLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		checks := newDemand()
		watcher := watcher{func(ctx context.Context, changed func()) error {
			if tries++; tries == 1 {
				return errors.New("not now")
			}
			for range 25 {
				changed()
				time.Sleep(100 * time.Millisecond)
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- followChanges(ctx, watcher, checks, logr.Discard()) }()
		var at []time.Duration
		for range 3 {
			<-checks
			at = append(at, time.Since(start)-driftRetry)
		}
		if !slices.Equal(at, []time.Duration{0, time.Second, 2 * time.Second}) {
			t.Errorf("comparisons were requested after %v, want one per second", at)
		}
		cancel()
		if err := <-ended; err != nil || tries != 2 {
			t.Errorf("the loop ended with %v after %d tries, want none and 2", err, tries)
		}
	})
}

// passes records the start of each drift check.
type passes struct {
	at     []time.Duration
	from   time.Time
	report engine.Report
	err    error
	takes  time.Duration
	// memory is that of the loop.
	memory memory
	// found is what each complete check found that is of no Translation.
	found [][]string
	// script, if not nil, has the results of the passes, the last one for all further ones.
	script []passes
}

// Begin and Find implement instrument.Finder.
func (p *passes) Begin(ctx context.Context, _, _ string) (context.Context, func(reconcile.Result, error)) {
	return ctx, func(reconcile.Result, error) {}
}

func (p *passes) Find(_ string, findings []string) { p.found = append(p.found, findings) }

func (p *passes) Drift(context.Context) (engine.Report, error) {
	p.at = append(p.at, time.Since(p.from))
	time.Sleep(p.takes) // on the clock of the bubble
	if len(p.script) > 0 {
		now := &p.script[min(len(p.at), len(p.script))-1]
		return now.report, now.err
	}
	return p.report, p.err
}

// run runs the loop in a bubble until do returns.
func run(t *testing.T, p *passes, interval time.Duration, do func(ready chan struct{}, checks demand)) (log string, registry *prometheus.Registry) {
	t.Helper()
	registry = prometheus.NewRegistry()
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		metrics, err := newMeters(registry)
		if err != nil {
			t.Fatal(err)
		}
		p.from = time.Now()
		ready := make(chan struct{})
		loop := &driftLoop{engine: p, ready: ready, checks: newDemand(), interval: interval, meters: metrics,
			memory: &p.memory,
			log:    funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})}
		ctx, cancel := context.WithCancel(instrument.With(t.Context(), p))
		ended := make(chan error, 1)
		go func() { ended <- loop.run(ctx) }()
		do(ready, loop.checks)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return strings.Join(lines, "\n"), registry
}

func wantPasses(t *testing.T, p *passes, minutes ...float64) {
	t.Helper()
	if len(p.at) != len(minutes) {
		t.Fatalf("passes at %v", p.at)
	}
	for i, at := range p.at {
		if at.Minutes() != minutes[i] {
			t.Errorf("pass %d at %s, want %v min", i, at, minutes[i])
		}
	}
}

func TestDriftLoop(t *testing.T) {
	t.Run("from the start, with pauses", func(t *testing.T) {
		p := &passes{takes: time.Minute}
		log, _ := run(t, p, 10*time.Minute, func(ready chan struct{}, _ demand) {
			time.Sleep(5 * time.Minute) // nothing happens before all Translations are known
			close(ready)
			time.Sleep(25 * time.Minute)
		})
		wantPasses(t, p, 5, 16, 27)
		if log != "" {
			t.Errorf("nothing differs, and it reports: %s", log)
		}
	})
	t.Run("on demand, and several demands are one", func(t *testing.T) {
		p := &passes{takes: time.Minute}
		run(t, p, time.Hour, func(ready chan struct{}, checks demand) {
			close(ready)
			time.Sleep(30 * time.Second)
			for range 5 {
				checks.request()
			}
			time.Sleep(4 * time.Minute)
			checks.request()
			synctest.Wait()
		})
		wantPasses(t, p, 0, 1, 4.5)
	})
	t.Run("sooner after a failure", func(t *testing.T) {
		p := &passes{err: errors.New("500"), report: engine.Report{Orphans: 7}}
		log, registry := run(t, p, 10*time.Minute, func(ready chan struct{}, _ demand) {
			close(ready)
			time.Sleep(150 * time.Second)
		})
		wantPasses(t, p, 0, 1, 2)
		if !strings.Contains(log, "500") {
			t.Errorf("the log does not report why: %s", log)
		}
		wantMetric(t, registry, "groundskeeper_translation_orphans", 0) // an incomplete check cannot find orphans
		wantPassesCounted(t, registry, `{outcome="failed"} 3`)
	})
	t.Run("orphans are a finding until a complete check finds none", func(t *testing.T) {
		p := &passes{script: []passes{
			{report: engine.Report{Orphans: 5, Deleted: 1, Names: []string{"a", "b", "c", "d"}}}, {err: errors.New("500")}, {},
		}}
		run(t, p, time.Minute, func(ready chan struct{}, _ demand) {
			close(ready)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		})
		wantPasses(t, p, 0, 1, 2)
		if len(p.found) != 2 || len(p.found[0]) != 1 || len(p.found[1]) != 0 {
			t.Fatalf("found %q, want orphans, and then nothing: a check that failed finds nothing and revokes nothing", p.found)
		}
		if first := p.found[0][0]; !strings.HasPrefix(first, "4 resources") || !strings.Contains(first, "a, b, c; ") {
			t.Errorf("found %q, want 4 orphans, and three names", first)
		}
	})
	t.Run("not sooner after a failure than that took", func(t *testing.T) {
		p := &passes{err: errors.New("timeout"), takes: 3 * time.Minute}
		run(t, p, 10*time.Minute, func(ready chan struct{}, checks demand) {
			close(ready)
			time.Sleep(4 * time.Minute)
			checks.request() // another client changes the backend
			time.Sleep(10 * time.Minute)
		})
		wantPasses(t, p, 0, 6, 12)
	})
	t.Run("on demand after a short failure", func(t *testing.T) {
		p := &passes{err: errors.New("timeout"), takes: 15 * time.Second}
		run(t, p, 10*time.Minute, func(ready chan struct{}, checks demand) {
			close(ready)
			checks.request()
			time.Sleep(40 * time.Second)
		})
		wantPasses(t, p, 0, 0.5)
	})
	t.Run("every other time while those of the start are pushed", func(t *testing.T) {
		p := &passes{}
		p.memory.addToBacklog(reconcile.Request{})
		run(t, p, 10*time.Minute, func(ready chan struct{}, checks demand) {
			close(ready)
			time.Sleep(43 * time.Minute)
			checks.request() // in the first pause
			time.Sleep(17 * time.Minute)
			checks.request() // in the second
			synctest.Wait()
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			p.memory.moveBacklog(queue)
			time.Sleep(11 * time.Minute)
		})
		wantPasses(t, p, 0, 20, 40, 43, 60, 70)
	})
	t.Run("never ready", func(t *testing.T) {
		p := &passes{}
		run(t, p, time.Minute, func(chan struct{}, demand) { time.Sleep(time.Hour) })
		wantPasses(t, p)
	})
}

// TestDriftIsReported checks that findings are counted and logged.
func TestDriftIsReported(t *testing.T) {
	p := &passes{report: engine.Report{Drifted: 3, Repaired: 2, Orphans: 5, Deleted: 1, Names: []string{"Chain x"}, Invalid: 2, InvalidNames: []string{"Port y: no id"}}}
	log, registry := run(t, p, 10*time.Minute, func(ready chan struct{}, _ demand) {
		close(ready)
		time.Sleep(15 * time.Minute)
	})
	if !strings.Contains(log, "Chain x") {
		t.Errorf("the log does not name the orphan: %s", log)
	}
	if !strings.Contains(log, "Port y: no id") {
		t.Errorf("the log does not name what is not understood: %s", log)
	}
	wantMetric(t, registry, "groundskeeper_translation_invalid_resources", 2)
	wantMetric(t, registry, "groundskeeper_translation_drift_found_total", 6)
	wantMetric(t, registry, "groundskeeper_translation_drift_repaired_total", 4)
	wantMetric(t, registry, "groundskeeper_translation_orphans", 4)
	wantPassesCounted(t, registry, `{outcome="done"} 2`)
}

func wantPassesCounted(t *testing.T, registry *prometheus.Registry, want string) {
	t.Helper()
	const name = "groundskeeper_translation_drift_passes_total"
	want = "# HELP " + name + " Comparisons of the whole backend with the Translations, by outcome: done, or failed when something could not be read.\n" +
		"# TYPE " + name + " counter\n" + name + want + "\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func wantMetric(t *testing.T, registry *prometheus.Registry, name string, want float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			if got := family.GetMetric()[0].GetCounter().GetValue() + family.GetMetric()[0].GetGauge().GetValue(); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
			return
		}
	}
	t.Errorf("there is no %s", name)
}

// TestCounts checks that the metric has all states of the newest engine.
func TestCounts(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		if err := registerCounts(registry, (&scripted{}).Counts); err != nil {
			t.Fatal(err)
		}
		if _, err := newMeters(registry); err != nil {
			t.Fatal(err)
		}
	}
	want := "# HELP groundskeeper_translation_resources Backend resources of Translations, by state: Pending, Synced, Drifted, Failed, Deleting or NotApplicable.\n# TYPE groundskeeper_translation_resources gauge\n"
	for _, line := range []string{`Deleting"} 0`, `Drifted"} 0`, `Failed"} 0`, `NotApplicable"} 0`, `Pending"} 0`, `Synced"} 3`} {
		want += `groundskeeper_translation_resources{state="` + line + "\n"
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "groundskeeper_translation_resources"); err != nil {
		t.Error(err)
	}
}
