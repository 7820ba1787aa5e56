// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/converter"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// world is a reconciler with an API server that has Nodes, and an HTTP fake of MidoNet.
type world struct {
	t          *testing.T
	store      *kubetest.Server
	midonet    *fakemidonet.Server
	hosts      Hosts
	reconciler *reconciler
	meters     *meters
	recorder   *events.FakeRecorder
	clock      *testingclock.FakePassiveClock
}

func newWorld(t *testing.T, nodes ...client.Object) *world {
	t.Helper()
	w := &world{
		t: t, store: kubetest.New(t, nodes...), midonet: fakemidonet.New(fakemidonet.Options{}), recorder: events.NewFakeRecorder(1000),
		clock: testingclock.NewFakePassiveClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	server := httptest.NewServer(w.midonet)
	t.Cleanup(server.Close)
	hosts, err := midonet.New(midonet.Options{URL: server.URL + fakemidonet.Root, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.hosts = hosts
	w.meters, err = NewMeters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	return w
}

// restart makes a reconciler that remembers nothing.
func (w *world) restart() {
	w.reconciler = newReconciler(midoNet(), w.hosts, w.clock, w.meters)
	w.reconciler.recorder = w.recorder
	w.reconciler.client = cached{w.store.Client()}
}

// cached is a client that reads Nodes as the cache of the manager has them.
type cached struct{ client.WithWatch }

func (c cached) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.WithWatch.Get(ctx, key, object, options...); err != nil {
		return err
	}
	for kind, by := range converter.CacheOptions(configv1alpha1.TranslationConfiguration{}) {
		if _, ok := kind.(*corev1.Node); !ok {
			continue
		}
		kept, err := by.Transform(object)
		if err != nil {
			return err
		}
		kept.(*corev1.Node).DeepCopyInto(object.(*corev1.Node))
	}
	return nil
}

// reconcile reconciles a Node. The log of the API server then has what it wrote.
func (w *world) reconcile(node string) (reconcile.Result, error) {
	w.store.ResetLog()
	return w.reconciler.Reconcile(w.t.Context(), request(node))
}

// pass reconciles once that succeeds with so many patches.
func (w *world) pass(node string, patches int) reconcile.Result {
	w.t.Helper()
	result, err := w.reconcile(node)
	if err != nil || w.store.Count() != patches {
		w.t.Fatalf("writes = %q, want %d patches, error %v", w.store.Writes(), patches, err)
	}
	return result
}

// node reads a Node.
func (w *world) node(name string) *corev1.Node {
	w.t.Helper()
	node := testNode(name)
	if !w.store.Find(node) {
		w.t.Fatalf("node %s does not exist", name)
	}
	return node
}

// listings is how many times the hosts were listed.
func (w *world) listings() int {
	count := 0
	for request, times := range w.midonet.Requests() {
		if request.Method == http.MethodGet && request.Path == "/hosts" {
			count += times
		}
	}
	return count
}

func (w *world) step(by time.Duration) { w.clock.SetTime(w.clock.Now().Add(by)) }

// events returns the events since the last call, as "Type Reason Message".
func (w *world) events() []string { return kubetest.Events(w.recorder) }

func (w *world) waiting(reason string) float64 {
	return testutil.ToFloat64(w.meters.waiting.WithLabelValues(reason))
}

func request(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: node}}
}

func testNode(name string, addresses ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	for _, address := range addresses {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return node
}
