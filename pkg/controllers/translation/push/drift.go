// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// driftRetry is the maximum pause after a drift check that could not read everything.
const driftRetry = time.Minute

// demand requests a drift check. Requests before its start are merged.
type demand chan struct{}

func newDemand() demand { return make(demand, 1) }

// request does not block.
func (d demand) request() {
	select {
	case d <- struct{}{}:
	default:
	}
}

// driftLoop compares the backend with the Translations: at startup, then at intervals, which are longer while the backlog is
// pushed, and on demand.
type driftLoop struct {
	engine interface {
		Drift(context.Context) (engine.Report, error)
	}
	// ready is closed once the engine has all Translations.
	ready    <-chan struct{}
	checks   demand
	interval time.Duration
	memory   *memory
	meters   *meters
	log      logr.Logger
}

// run checks until the context ends.
func (l *driftLoop) run(ctx context.Context) error {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		pause, rest := l.pass(ctx)
		elapses(ctx, rest, nil)
		// Translations that wait for their first push are compared by the push. A concurrent comparison would delay thousands of them and
		// use additional memory. At most every other comparison is skipped, because pushed resources may drift.
		if elapses(ctx, pause, l.checks) && l.memory.hasBacklog() {
			elapses(ctx, pause, l.checks)
		}
	}
	return nil
}

// elapses waits, and reports whether the pause elapsed without a demand and without the end of ctx.
func elapses(ctx context.Context, pause time.Duration, checks demand) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-checks:
	case <-ctx.Done():
	}
	return false
}

// pass runs one drift check, reports its findings, and returns the pause before the next one, after a rest that no demand ends: a check
// that failed may have done so because the backend is overloaded, so it occupies that for half of the time at most.
func (l *driftLoop) pass(ctx context.Context) (pause, rest time.Duration) {
	started := time.Now()
	observed, end := instrument.Task(ctx, ControllerName+" comparison")
	report, err := l.engine.Drift(observed)
	end(err)
	took := time.Since(started)
	if ctx.Err() != nil {
		return l.interval, 0
	}
	l.meters.passed(report, err == nil)
	if err == nil {
		instrument.Found(ctx, ControllerName, l.memory.compared(findingsOf(report))...)
	}
	if report.Drifted > 0 || report.Orphans > 0 || report.Deleted > 0 {
		l.log.Info("The backend differs from the Translations", "drifted", report.Drifted, "repaired", report.Repaired,
			"orphans", report.Orphans, "orphansDeleted", report.Deleted, "someOrphans", report.Names, "took", took.String())
	}
	if report.Invalid > 0 {
		l.log.Info("Skipped resources of the backend that are not understood",
			"resources", report.Invalid, "someResources", report.InvalidNames)
	}
	if err != nil {
		l.log.Error(err, "Failed to compare the whole backend", "compared", report.Compared, "resources", report.Expected,
			"reads", report.Reads, "took", took.String())
		return max(min(l.interval, driftRetry)-took, 0), took
	}
	return l.interval, 0
}

// findingsOf returns what a complete comparison found that is of no Translation.
func findingsOf(report engine.Report) []string {
	orphans := report.Orphans - report.Deleted
	if orphans <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d resources of the tenant in the network backend are in no Translation, for instance %s; they may serve "+
		"traffic that they should not. Check them, then set controllers.translation.push.orphans to delete (docs/translations.md#orphans)",
		orphans, strings.Join(report.Names[:min(3, len(report.Names))], ", "))}
}

// changePause is the minimum interval of comparisons that changes by other clients cause, so that a client that writes continuously
// does not cause continuous reads.
const changePause = time.Second

// Watcher is a backend that can report changes by other clients.
type Watcher interface {
	// Watch calls the function after a change of a resource by another client, and when it may have missed one, until the context
	// ends. The function does not block.
	Watch(ctx context.Context, changed func()) error
}

// followChanges requests a comparison when the backend reports a change by another client, until the context ends.
func followChanges(ctx context.Context, watcher Watcher, checks demand, log logr.Logger) error {
	changes := newDemand()
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		select {
		case <-changes:
			checks.request()
		case <-ctx.Done():
		}
	}, changePause)
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := watcher.Watch(ctx, changes.request); ctx.Err() == nil {
			log.Error(err, "Changes in the backend are not reported; it is compared periodically", "retryAfter", driftRetry.String())
		}
	}, driftRetry)
	return nil
}
