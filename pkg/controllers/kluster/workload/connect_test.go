// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// real makes the sessions of a flow real ones. It returns how many nodes went, and the gauges.
func (f *flow) real() (nodeDeleted *atomic.Int32, meters *meters, registry *prometheus.Registry) {
	f.t.Helper()
	nodeDeleted, registry = &atomic.Int32{}, prometheus.NewRegistry()
	meters, err := NewMeters(registry)
	if err != nil {
		f.t.Fatal(err)
	}
	volumes, err := localvolume.NewMetrics(registry)
	if err != nil {
		f.t.Fatal(err)
	}
	f.r.options.Clock = clock.RealClock{}
	f.r.options.NodeDeleted = func(key types.NamespacedName, uid types.UID) {
		if key.Name == "k" && uid == "k-uid" {
			nodeDeleted.Add(1)
		}
	}
	c := connector{options: f.r.options, meters: meters, volumes: volumes, pauses: wait.Backoff{Duration: time.Millisecond, Factor: 2, Steps: 10, Cap: 100 * time.Millisecond}}
	f.r.open = c.open
	return nodeDeleted, meters, registry
}

// settle reconciles whatever is queued until the condition of a Kluster is that.
func (f *flow) settle(k *kubernikusv1.Kluster, want string) {
	f.t.Helper()
	eventually(f.t, "the condition is "+want, func() bool {
		for f.queue.Len() > 0 {
			request, _ := f.queue.Get()
			f.queue.Done(request)
		}
		f.reconcile(k)
		return f.condition(k) == want
	})
}

// TestConnection checks the whole protocol: what is watched, with which credentials, and what is reported.
func TestConnection(t *testing.T) {
	t.Parallel()
	k := klustertest.Kluster("k", cleaned("local"))
	f := newFlow(t, k)
	nodeDeleted, meters, registry := f.real()
	cluster := f.cluster
	cluster.Put("nodes", "{metadata: {name: a}}")
	cluster.Deny("delete persistentvolumes", true)
	f.store.Add(f.secret("k-secret", "first"))
	f.settle(k, "False/"+ReasonForbidden)
	cluster.Deny("delete persistentvolumes", false)
	f.settle(k, "True/"+ReasonRunning)
	for _, purpose := range []string{purposeNodes, purposeVolumes} {
		if got := testutil.ToFloat64(meters.sessions.WithLabelValues(purpose)); got != 1 {
			t.Errorf("%v sessions for %s", got, purpose)
		}
	}
	eventually(t, "both watch nodes", func() bool { return cluster.Watches("nodes") == 2 })
	cluster.Remove("nodes", "a", false)
	eventually(t, "the node has been deleted", func() bool { return nodeDeleted.Load() == 1 })
	cluster.Requests()

	// New credentials: nothing continues with the old ones.
	secret := f.secret("k-secret", "first")
	f.store.Change(secret, func() { secret.Data = f.secret("", "second").Data })
	var requests []string // the cluster reports each of them once
	eventually(t, "the new session watches", func() bool {
		f.reconcile(k)
		requests = append(requests, cluster.Requests()...)
		return slices.Contains(requests, "watch persistentvolumeclaims second") && cluster.Watches("nodes") == 2
	})
	f.settle(k, "True/"+ReasonRunning)
	if got := nodeDeleted.Load(); got != 2 {
		t.Errorf("%d nodes have been deleted; one may have been while there was no watch", got)
	}
	if slices.ContainsFunc(cluster.Requests(), func(r string) bool { return r[len(r)-5:] == "first" }) {
		t.Error("the old credentials are still used")
	}

	// Paused: no watch, no gauge, no series of the cluster.
	f.store.Change(k, func() { klustertest.Annotated("groundskeeper.io/paused")(k) })
	f.settle(k, "Unknown/"+ReasonPaused)
	eventually(t, "nothing runs", func() bool {
		n, err := testutil.GatherAndCount(registry, "groundskeeper_local_volume_brake_engaged")
		return err == nil && n == 0 && cluster.Watches("nodes") == 0 && testutil.ToFloat64(meters.sessions.WithLabelValues(purposeNodes)) == 0 &&
			testutil.ToFloat64(meters.sessions.WithLabelValues(purposeVolumes)) == 0
	})
}

// TestNoLeak checks that sessions that were started and stopped leave nothing behind.
func TestNoLeak(t *testing.T) {
	k := klustertest.Kluster("k", cleaned("local"))
	f := newFlow(t, k)
	f.real()
	f.cluster.Put("nodes", "{metadata: {name: a}}")
	secret := f.secret("k-secret", "first")
	f.store.Add(secret)
	before := runtime.NumGoroutine()
	annotated := false
	for i := range 20 {
		f.reconcile(k)
		if i%2 == 0 {
			f.settle(k, "True/"+ReasonRunning)
		}
		f.store.Change(k, func() {
			if annotated = !annotated; annotated {
				klustertest.Annotated("groundskeeper.io/paused")(k)
			} else {
				k.Annotations = nil
			}
		})
		if annotated {
			f.settle(k, "Unknown/"+ReasonPaused)
			f.store.Change(k, func() { k.Annotations = nil })
			annotated = false
		}
		f.store.Change(secret, func() { secret.Data = f.secret("", "token"+string(rune('a'+i))).Data })
	}
	f.store.Change(k, func() { k.Finalizers = nil })
	f.store.Remove(k)
	eventually(t, "all sessions end", func() bool {
		f.reconcile(k)
		return len(f.r.sessions) == 0
	})
	f.cluster.CloseClientConnections()
	text := make([]byte, 1<<20)
	defer func() {
		if t.Failed() {
			t.Log(string(text))
		}
	}()
	eventually(t, "all goroutines end", func() bool {
		text = text[:runtime.Stack(text[:cap(text)], true)]
		return runtime.NumGoroutine() <= before
	})
}

// TestUnreachable checks that a cluster whose API server does not respond blocks no other, is reported after a while, and continues
// when it responds again.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	k, other := klustertest.Kluster("k", cleaned("local")), klustertest.Kluster("other", cleaned("local"))
	f := newFlow(t, k, other)
	f.real()
	f.r.options.Clock = f.clock
	f.r.open = connector{options: f.r.options, meters: must(NewMeters(prometheus.NewRegistry())), volumes: must(localvolume.NewMetrics(prometheus.NewRegistry())),
		pauses: wait.Backoff{Duration: time.Millisecond}}.open
	second := newFlow(t)
	second.cluster.Break(http.StatusServiceUnavailable)
	secret := second.secret("k-secret", "first")
	f.store.Add(secret, f.secret("other-secret", "first"))
	f.reconcile(k)
	f.settle(other, "True/"+ReasonRunning)
	if got := f.condition(k); got != "" {
		t.Errorf("immediately: %s", got)
	}
	eventually(t, "a failure", func() bool { return f.reconcile(k).RequeueAfter == grace })
	f.clock.SetTime(f.clock.Now().Add(grace))
	f.settle(k, "False/"+ReasonUnreachable)
	second.cluster.Break(0)
	f.settle(k, "True/"+ReasonRunning)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The end of the process waits for all sessions.
func TestWait(t *testing.T) {
	k := klustertest.Kluster("k")
	f := newFlow(t, k)
	f.store.Add(f.secret("k-secret", "first"))
	f.reconcile(k)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.r.wait(ctx) }()
	cancel()
	<-f.last(1).ctx.Done()
	select {
	case err := <-ended:
		t.Fatal("it did not wait", err)
	default:
	}
	f.last(1).leave <- struct{}{}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The state of a session, as the condition.
func TestView(t *testing.T) {
	h := &health{clock: clock.RealClock{}, changed: func() {}}
	v := &view{health: h, news: func() {}}
	settings := planFor(klustertest.Kluster("k", cleaned("a", "b")), defaults(), false).volumes
	want := func(step, reason string, status metav1.ConditionStatus) {
		t.Helper()
		c, _ := v.condition(settings)
		if c == nil {
			c = &metav1.Condition{}
		}
		if c.Reason != reason || c.Status != status {
			t.Errorf("%s: %+v", step, c)
		}
	}
	want("nothing is known", "", "")
	v.stopped(errors.New("timed out"))
	want("it could not begin", ReasonUnreachable, metav1.ConditionFalse)
	v.running()
	want("it runs", ReasonRunning, metav1.ConditionTrue)
	v.braked("3 of 4 nodes")
	want("braked", ReasonBraked, metav1.ConditionFalse)
	h.denied = map[string]bool{"list nodes": true}
	want("a right was taken", ReasonForbidden, metav1.ConditionFalse)
	h.denied = nil
	v.braked("")
	want("the brake is released", ReasonRunning, metav1.ConditionTrue)
	v.cleanedElsewhere("storage class a is cleaned up by Kluster shop/other")
	want("another Kluster cleans up", ReasonElsewhere, metav1.ConditionFalse)
	v.running()
	want("it begins later than it reports that", ReasonElsewhere, metav1.ConditionFalse)
	v.cleanedElsewhere("")
	want("the other one stopped", ReasonRunning, metav1.ConditionTrue)
	v.stopped(nil)
	want("it ended", ReasonUnreachable, metav1.ConditionFalse)
}
