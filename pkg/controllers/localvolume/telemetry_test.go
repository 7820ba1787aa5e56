// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

func newTestMetrics(t *testing.T) *Metrics {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}

// TestEventSender checks that events are delivered, those of cluster-wide objects in namespace default, with creations only, and
// that queued ones are sent on shutdown.
func TestEventSender(t *testing.T) {
	store := kubetest.New(t)
	store.Reject = func(w kubetest.Write) error { return map[string]error{"refused": errors.New("refused")}[w.Namespace] }
	metrics := newTestMetrics(t)
	sender := NewEventSender(store.Client(), testingclock.NewFakePassiveClock(noon), metrics, EventQueue)
	long := strings.Repeat("x", 2000)
	sender.Event(staleVolume(), corev1.EventTypeWarning, "R1", "about a volume")
	sender.Event(boundClaim(), corev1.EventTypeNormal, "R2", long)
	sender.Event(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: strings.Repeat("n", 250)}}, corev1.EventTypeNormal, "R3", "m")
	// An event about an object that was only named has its uid, if the object can be read.
	store.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: "record", UID: "uid-record"}})
	sender.Event(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "sys", Name: "record"}}, corev1.EventTypeNormal, "R5", "m")
	sender.Event(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "refused", Name: "p"}}, corev1.EventTypeNormal, "R4", "m")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sender.Start(ctx); err != nil {
		t.Fatal(err)
	}
	created := &corev1.EventList{}
	if err := store.List(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	names := map[string]bool{}
	for _, event := range created.Items {
		of := event.InvolvedObject
		got[event.Reason] = fmt.Sprintf("%s %s %s/%s %s", event.Namespace, of.Kind, of.Namespace, of.Name[:1], of.UID)
		names[event.Name] = true
		if len(event.Name) > 253 || len(event.Message) > 1024 || event.ReportingController == "" || event.ReportingInstance == "" || event.Action == "" || !event.EventTime.Time.Equal(noon) {
			t.Errorf("the API server would reject %+v", event)
		}
	}
	for reason, want := range map[string]string{"R1": "default PersistentVolume /v uid-v", "R2": "ns PersistentVolumeClaim ns/c uid-c", "R3": "sys ConfigMap sys/n ",
		"R5": "sys ConfigMap sys/r uid-record"} {
		if got[reason] != want {
			t.Errorf("%s is %q, want %q", reason, got[reason], want)
		}
	}
	if lost := testutil.ToFloat64(metrics.EventsLost); lost != 1 || len(names) != 4 {
		t.Errorf("%v events are lost, names %v", lost, names)
	}
}

// TestEventSenderFull checks that a full queue drops events, and does not block.
func TestEventSenderFull(t *testing.T) {
	metrics := newTestMetrics(t)
	sender := NewEventSender(kubetest.New(t), testingclock.NewFakePassiveClock(noon), metrics, EventQueue)
	for range EventQueue + 3 {
		sender.Event(staleVolume(), corev1.EventTypeNormal, "R", "m")
	}
	if lost := testutil.ToFloat64(metrics.EventsLost); lost != 3 {
		t.Errorf("%v events are lost", lost)
	}
}

// TestMetrics checks that the metrics have the names of the original, and that a second instance in a process continues the
// counters.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	first.ClaimsDeleted.Inc()
	second.ClaimsDeleted.Inc()
	second.VolumesDeleted.WithLabelValues("Released").Inc()
	const want = `
# HELP local_volume_node_cleanup_persistentvolume_delete_total Persistent volumes deleted, by their phase.
# TYPE local_volume_node_cleanup_persistentvolume_delete_total counter
local_volume_node_cleanup_persistentvolume_delete_total{phase="Released"} 1
# HELP local_volume_node_cleanup_persistentvolumeclaim_delete_failed_total Deletions of persistent volume claims that failed.
# TYPE local_volume_node_cleanup_persistentvolumeclaim_delete_failed_total counter
local_volume_node_cleanup_persistentvolumeclaim_delete_failed_total 0
# HELP local_volume_node_cleanup_persistentvolumeclaim_delete_total Persistent volume claims deleted.
# TYPE local_volume_node_cleanup_persistentvolumeclaim_delete_total counter
local_volume_node_cleanup_persistentvolumeclaim_delete_total 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "local_volume_node_cleanup_persistentvolume_delete_total",
		"local_volume_node_cleanup_persistentvolumeclaim_delete_total", "local_volume_node_cleanup_persistentvolumeclaim_delete_failed_total"); err != nil {
		t.Error(err)
	}
	if err := registry.Register(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "local_volume_node_cleanup_persistentvolume_delete_failed_total",
		Help: "Deletions of persistent volumes that failed, by the phase of the volume."}, []string{"phase"})); err == nil {
		t.Error("the name of the original is not taken")
	}
}
