// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// fakeManager is a manager that starts nothing automatically.
type fakeManager struct {
	manager.Manager
	world     *world
	informers *informers
	added     []manager.Runnable
}

func (m *fakeManager) GetLogger() logr.Logger                         { return logr.Discard() }
func (m *fakeManager) GetCache() cache.Cache                          { return m.informers }
func (m *fakeManager) GetClient() client.Client                       { return m.world.store }
func (m *fakeManager) GetScheme() *runtime.Scheme                     { return m.world.store.Scheme() }
func (m *fakeManager) GetEventRecorder(string) recorder.EventRecorder { return m.world.recorder }

func (m *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(true)}
}

func (m *fakeManager) Add(runnable manager.Runnable) error {
	m.added = append(m.added, runnable)
	return nil
}

// informers report what is watched.
type informers struct {
	informertest.FakeInformers
	watched chan string
}

func (i *informers) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i.watched <- fmt.Sprintf("%T", object)
	return controllertest.NewFakeInformer(controllertest.Synced), nil
}

// Nodes are watched, and nothing else.
func TestAddToManager(t *testing.T) {
	mgr := &fakeManager{world: newWorld(t), informers: &informers{watched: make(chan string, 10)}}
	if err := AddToManager(mgr, mgr.world.hosts, mgr.world.clock); err != nil || len(mgr.added) != 1 {
		t.Fatalf("error %v, %d added", err, len(mgr.added))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.added[0].Start(ctx) }()
	if got := <-mgr.informers.watched; got != "*v1.Node" {
		t.Errorf("%s is watched", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(mgr.informers.watched) > 0 {
		t.Errorf("%s is watched, too", <-mgr.informers.watched)
	}
}

func TestChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*corev1.Node)
		want bool
	}{
		"heartbeat": {func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{LastHeartbeatTime: metav1.Now()}}
		}, false},
		"other annotation": {func(n *corev1.Node) { n.Annotations["other"] = "x" }, false},
		"host-id is taken": {func(n *corev1.Node) { delete(n.Annotations, midonetv1.AnnotationHostID) }, true},
		"record of the annotator": {func(n *corev1.Node) {
			n.Annotations[midonetv1.AnnotationWrittenTunnelEndpointIP] = "x"
		}, true},
		"address":      {func(n *corev1.Node) { n.Status.Addresses = testNode("a", "192.0.2.1").Status.Addresses }, true},
		"another node": {func(n *corev1.Node) { n.UID = "other" }, true},
		"resync":       {func(n *corev1.Node) { n.ResourceVersion = "1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := testNode("a")
			before.ResourceVersion, before.Annotations = "1", map[string]string{midonetv1.AnnotationHostID: "x"}
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			tc.edit(after)
			if got := changed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	if changed().Update(event.UpdateEvent{ObjectOld: &corev1.Pod{}, ObjectNew: &corev1.Pod{}}) {
		t.Error("a pod passes")
	}
}

func TestMetersOutliveAManager(t *testing.T) {
	registry := prometheus.NewRegistry()
	for want := 1.0; want < 3; want++ {
		m, err := NewMeters(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.annotated.Inc()
		m.waiting.WithLabelValues(reasonNoHost).Inc()
		if got := testutil.ToFloat64(m.annotated); got != want {
			t.Errorf("counted %v, want %v", got, want)
		}
		if got := testutil.ToFloat64(m.waiting.WithLabelValues(reasonNoHost)); got != 1 {
			t.Errorf("a gauge continues from %v", got-1)
		}
	}
	for _, name := range []string{"host_listings_total", "nodes_annotated_total", "nodes_unannotated"} {
		taken := prometheus.NewRegistry()
		taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_translation_" + name, Help: "another"}))
		if _, err := NewMeters(taken); err == nil {
			t.Errorf("%s is taken, and that is no error", name)
		}
	}
}
