// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func TestFlow(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k, klustertest.Kluster("s", pods("100.101.0.0/16")))
	f.orphan()
	if got := f.pass(k, 0); got != "False/"+ReasonConfirming {
		t.Errorf("first %s", got)
	}
	if got := testutil.ToFloat64(f.r.meters.orphans); got != 1 {
		t.Errorf("%v orphans are counted", got)
	}
	first := f.clock.Now()
	f.wantOrphan(k, first, 30*time.Second)
	f.wantRoutes(5)
	if got := f.reconcile(k).RequeueAfter; got != 30*time.Second {
		t.Errorf("the next check is in %s", got)
	}
	if got := f.pass(k, 30*time.Second); got != "True/"+ReasonClean {
		t.Errorf("second %s", got)
	}
	if got := f.get(k).Status.RouteGC; got != nil {
		t.Errorf("status.routeGC = %+v after the removal, want none", got)
	}
	f.wantRoutes(4)
	if removed, orphans := testutil.ToFloat64(f.r.meters.removed), testutil.ToFloat64(f.r.meters.orphans); removed != 1 || orphans != 0 {
		t.Errorf("removed %v, orphans %v", removed, orphans)
	}
	if text := drain(f.recorder); !strings.Contains(text, eventRemoved) || !strings.Contains(text, "100.100.2.0/24 via 10.0.0.6") {
		t.Errorf("events: %s", text)
	}
	// A router without routes of the cluster costs one request, and a status that reports nothing new none.
	f.SetRoutes(f.router)
	f.pass(k, 6*time.Minute)
	f.Requests()
	before := f.store.Count()
	f.pass(k, 6*time.Minute)
	if requests := f.Requests(); len(requests) != 1 || f.store.Count() != before {
		t.Errorf("an idle pass: %d requests to the cloud, %d writes", len(requests), f.store.Count()-before)
	}
}

// The status lists orphans while a check fails, and after a restart of the controller, and none while Route GC is paused. With dryRun
// they have no time of removal.
func TestStatusListsOrphans(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.orphan()
	f.pass(k, 0)
	first := f.clock.Now()
	f.wantOrphan(k, first, 30*time.Second)
	f.r.drop(client.ObjectKeyFromObject(k)) // what the controller knows is lost
	f.Inject(fake.Fault{Path: "/network/v2.0/routers", Status: 503})
	if got := f.pass(k, 0); got != "Unknown/Unreachable" {
		t.Errorf("condition = %s", got)
	}
	f.wantOrphan(k, first, 30*time.Second)
	f.Heal()
	f.change(k, gc(kubernikusv1.RouteGCSpec{DryRun: new(true)}))
	f.pass(k, time.Minute)
	first = f.clock.Now()
	f.wantOrphan(k, first, 0)
	before := f.store.Count()
	f.pass(k, time.Minute)
	f.pass(k, time.Hour)
	if wrote := f.store.Count() - before; wrote > 1 { // the condition changes from ConfirmingOrphans to DryRun
		t.Errorf("%d writes without a change of the orphans", wrote)
	}
	f.wantOrphan(k, first, 0)
	f.change(k, klustertest.Annotated("groundskeeper.io/paused"))
	f.pass(k, time.Minute)
	if got := f.get(k).Status.RouteGC; got != nil {
		t.Errorf("status.routeGC = %+v of a paused Kluster, want none", got)
	}
}

// wantOrphan wants the status to list the one orphan, since a time, to be removed after some time, 0: not at all.
func (f *flow) wantOrphan(k *kubernikusv1.Kluster, since time.Time, after time.Duration) {
	f.t.Helper()
	got := f.get(k).Status.RouteGC
	if got == nil || got.OrphanCount != 1 || len(got.Orphans) != 1 {
		f.t.Fatalf("status.routeGC = %+v, want one orphan", got)
	}
	o := got.Orphans[0]
	if o.Destination != "100.100.2.0/24" || o.NextHop != "10.0.0.6" || o.Reason != kubernikusv1.OrphanNoPort || o.Since == nil || !o.Since.Time.Equal(since.Truncate(time.Second)) {
		f.t.Errorf("orphan = %+v, want 100.100.2.0/24 via 10.0.0.6 since %s", o, since)
	}
	switch {
	case after == 0 && o.RemovalDue != nil:
		f.t.Errorf("removal is due at %s, want none", o.RemovalDue)
	case after != 0 && (o.RemovalDue == nil || !o.RemovalDue.Time.Equal(since.Add(after).Truncate(time.Second))):
		f.t.Errorf("removal is due at %s, want %s after the first observation", o.RemovalDue, after)
	}
}

// TestPauseDiscardsObservations checks that observations before a pause are not used after it.
func TestPauseDiscardsObservations(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.orphan()
	f.pass(k, 0)
	f.change(k, klustertest.Annotated("groundskeeper.io/paused"))
	if got := f.pass(k, time.Minute); got != "Unknown/"+ReasonPaused {
		t.Errorf("paused: %s", got)
	}
	f.change(k, func(k *kubernikusv1.Kluster) { k.Annotations = nil })
	if got := f.pass(k, time.Hour); got != "False/"+ReasonConfirming {
		t.Errorf("after: %s", got)
	}
	f.wantRoutes(5)
	f.change(k, func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
	if got := f.pass(k, time.Minute); got != "" || testutil.ToFloat64(f.r.meters.orphans) != 0 {
		t.Errorf("without a cloud: %q", got)
	}
}

func TestFailures(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.orphan()
	f.Inject(fake.Fault{Path: "/network/v2.0/routers", Status: 503})
	if got := f.pass(k, 0); got != "Unknown/Unreachable" {
		t.Errorf("got %s", got)
	}
	if got := testutil.ToFloat64(f.r.meters.aborted.WithLabelValues("Unreachable")); got != 1 {
		t.Errorf("%v passes are aborted", got)
	}
	f.Heal()
	if got := f.pass(k, 30*time.Second); got != "Unknown/Unreachable" {
		t.Errorf("it is tried again immediately: %s", got)
	}
	if got := f.pass(k, time.Minute); got != "False/"+ReasonConfirming {
		t.Errorf("got %s", got)
	}
	secret := klustertest.Secret("k-secret", "", "", "", "", nil)
	f.store.Remove(secret)
	if got := f.pass(k, 6*time.Minute); got != "Unknown/CredentialsInvalid" {
		t.Errorf("without a Secret: %s", got)
	}
	f.wantRoutes(5)
}

// TestStuckCloud checks that an unresponsive cloud does not delay other Klusters, because the worker returns immediately.
func TestStuckCloud(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	reached, free := make(chan struct{}), make(chan struct{})
	f.Inject(fake.Fault{Path: "/identity", Times: 1, Do: func() { close(reached); <-free }})
	f.reconcile(k)
	<-reached
	if result := f.reconcile(k); result.RequeueAfter != 0 || !f.r.passes.Running(client.ObjectKeyFromObject(k)) {
		t.Errorf("the worker does not leave it: %+v", result)
	}
	close(free)
	if got := f.woken(); got != client.ObjectKeyFromObject(k) {
		t.Errorf("queued %v", got)
	}
}

func drain(recorder *events.FakeRecorder) string {
	var all strings.Builder
	for len(recorder.Events) > 0 {
		all.WriteString(<-recorder.Events + "\n")
	}
	return all.String()
}

// TestGeneration checks that results of an earlier generation are not reported for a later one.
func TestGeneration(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.orphan()
	observed := func() int64 {
		return meta.FindStatusCondition(f.get(k).Status.Conditions, kubernikusv1.ConditionRoutesClean).ObservedGeneration
	}
	f.pass(k, 0)
	before := observed()
	f.change(k, gc(kubernikusv1.RouteGCSpec{DryRun: new(true)}))
	f.reconcile(k)
	if got := observed(); got != before {
		t.Errorf("before the reconciliation it is of generation %d", got)
	}
	f.woken()
	f.reconcile(k)
	if got := observed(); got != k.Generation {
		t.Errorf("after the reconciliation it is of generation %d", got)
	}
}
