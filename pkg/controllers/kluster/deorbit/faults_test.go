// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// walk is a Deorbit over time, probe by probe.
type walk struct {
	t *testing.T
	progress
	settings
	now  time.Time
	last action
}

func newWalk(t *testing.T, before progress) *walk {
	return &walk{t: t, progress: before, settings: usual(), now: epoch}
}

// probe advances the clock and applies the outcome of a check.
func (w *walk) probe(after time.Duration, o *observed) {
	w.now = w.now.Add(after)
	w.progress, w.last = decide(w.progress, o, w.settings, w.now)
}

func (w *walk) in(which kubernikusv1.DeorbitStage) {
	w.t.Helper()
	if w.Stage != which {
		w.t.Errorf("at %s it is in %s, not in %s", w.now.Sub(epoch), w.Stage, which)
	}
}

// TestOneFailureDoesNotStopRetrying covers a known fault of Kubernikus: a single 5xx later than 2 min after the deletion ended the
// cleanup.
func TestOneFailureDoesNotStopRetrying(t *testing.T) {
	w := newWalk(t, in(pods))
	for range 100 {
		w.probe(time.Minute, failed(pods, clusterFailure(errDown)))
		w.in(pods)
		w.probe(time.Minute, showed(pods, thing("PersistentVolumeClaim", fmt.Sprint(w.now.Unix()))))
		if w.in(pods); w.UnreachableSince != nil {
			t.Fatal("a response does not end the row")
		}
		w.LastProgressAt = new(metav1.NewTime(w.now)) // what it waits for does not matter
	}
}

// TestEachClassOfFailureStopsRetrying covers known faults of Kubernikus: rejected connections and DNS errors were retried
// indefinitely, and a restart with an unreachable API was stuck.
func TestEachClassOfFailureStopsRetrying(t *testing.T) {
	for _, message := range []string{"connection refused", "no such host", "x509: unknown authority", "i/o timeout", "Unauthorized", "Forbidden", "500"} {
		w := newWalk(t, in(claims))
		w.probe(time.Second, failed(claims, clusterFailure(fmt.Errorf("%s", message))))
		// State that is only in memory is lost after a restart.
		w.progress = progress{DeorbitStatus: loaded(w.DeorbitStatus)}
		w.probe(119*time.Second, failed(claims, clusterFailure(errDown)))
		w.in(claims)
		w.probe(time.Second, failed(claims, clusterFailure(errDown)))
		w.in(verify)
	}
}

// TestRetainedIsNotWaitedFor covers a known fault of Kubernikus: Retain PersistentVolumes were waited for 24h. Retained objects
// keep no stage from completing.
func TestRetainedIsNotWaitedFor(t *testing.T) {
	kept := thing("PersistentVolume", "kept")
	o := showed(wait)
	o.parts[0].report.Retained = []kubernikusv1.DeorbitObject{kept}
	w := newWalk(t, in(wait))
	w.probe(0, o)
	if w.in(verify); !slices.Equal(w.Retained, []kubernikusv1.DeorbitObject{kept}) {
		t.Errorf("retained %v", w.Retained)
	}
	w.probe(0, showed(verify))
	if len(w.Retained) != 1 {
		t.Error("what another stage keeps is discarded")
	}
	deleted := showed(routes)
	deleted.parts[0].report.Deleted = []kubernikusv1.DeorbitObject{kept}
	if w.probe(0, deleted); len(w.Retained) != 0 {
		t.Errorf("what is deleted is retained: %v", w.Retained)
	}
}

// Regression: a missing snapshot CRD led to the removal of the finalizer with nothing deleted. No check inside the cluster removes the
// finalizer, and a failure never completes a stage.
func TestOnlyACleanReleaseReleases(t *testing.T) {
	for _, which := range kubernikusv1.DeorbitStages() {
		for _, f := range []*failure{nil, clusterFailure(errDown), cloudFailure(errDown), internalFailure(errDown)} {
			o := failed(which, f)
			next, action := decide(in(which), o, usual(), epoch)
			if action.ends != "" && (f != nil || which != release) {
				t.Errorf("%s with %+v ends", which, f)
			}
			if f != nil && next.Stage != which {
				t.Errorf("%s is over with %+v", which, f)
			}
		}
	}
}

// TestProgress checks that a stage that makes slow progress continues, and that one that deletes the same objects repeatedly does
// not.
func TestProgress(t *testing.T) {
	deleting := func(kind, name string) *observed {
		o := showed(claims, things(kind, "a", "b", "c")...)
		o.parts[0].report.Deleted = []kubernikusv1.DeorbitObject{thing(kind, name)}
		return o
	}
	slow := newWalk(t, in(claims))
	for i := range 40 {
		slow.probe(50*time.Minute/2, showed(claims, things("PersistentVolumeClaim", make([]string, 40-i)...)...))
		slow.in(claims)
	}
	// A check that fails shows nothing, and that is not less.
	blind := newWalk(t, in(verify))
	for range 6 {
		blind.probe(10*time.Minute, failed(verify, rejected()))
		if blind.Stage == verify {
			blind.probe(0, showed(verify, thing("Volume", "v")))
		}
	}
	blind.in(routes)
	fresh := newWalk(t, in(claims))
	for i := range 5 {
		fresh.probe(50*time.Minute, deleting("PersistentVolumeClaim", fmt.Sprint(i)))
		fresh.in(claims)
	}
	for name, show := range map[string]func(i int) *observed{
		"the same again": func(int) *observed { return deleting("Volume", "error_deleting") },
		"pods come back": func(i int) *observed {
			o := showed(claims, thing("Pod", fmt.Sprint(i)))
			o.parts[0].report.Deleted = o.parts[0].report.Remaining
			return o
		},
		"more and less": func(i int) *observed { return showed(claims, things("Volume", make([]string, 2+i%2)...)...) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWalk(t, in(claims))
			for i := range 10 {
				w.probe(10*time.Minute, show(i))
			}
			w.in(services)
		})
	}
}

// TestFinalCheckInPart checks that a final check of a Release that fails partially lists what each part knows.
func TestFinalCheckInPart(t *testing.T) {
	volume, route, old := thing("Volume", "v"), thing("Route", "r"), thing("Route", "old")
	w := newWalk(t, in(release, remaining(old, volume)))
	w.settings = destructing(w.settings)
	w.probe(0, &observed{stage: release, parts: []part{{stage: verify, failure: rejected()}, {stage: routes, report: stage.Report{Remaining: []kubernikusv1.DeorbitObject{route}}}}})
	if w.last.ends != endsSelfDestruct || len(w.Remaining) != 3 || w.Remaining[0] != route || w.Remaining[1] != volume || w.Remaining[2].Kind != projectKind {
		t.Errorf("ends %q, left %v", w.last.ends, w.Remaining)
	}
	// A check that ended while it deleted knows what remains.
	w = newWalk(t, in(verify, remaining(old)))
	o := showed(verify, volume)
	o.parts[0].failure = rejected()
	if w.probe(0, o); len(w.Remaining) != 2 || w.failure == nil {
		t.Errorf("left %v", w.Remaining)
	}
	w.in(verify)
}
