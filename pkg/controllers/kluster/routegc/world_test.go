// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

var errFailed = errors.New("failed")

// flow is the controller on a store and a fake cloud.
type flow struct {
	*fake.Server
	t        *testing.T
	store    *kubetest.Server
	r        *reconciler
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	network  string
	router   string
	// lost is the response of the fence.
	lost  error
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	return newFlowOn(t, fake.Options{}, objects...)
}

// newFlowOn is newFlow with options of the cloud.
func newFlowOn(t *testing.T, o fake.Options, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{Server: fake.New(o), t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), recorder: events.NewFakeRecorder(100)}
	t.Cleanup(f.Close)
	f.AddUser("gardener", "password", "garden")
	f.network = f.AddNetwork("10.0.0.0/24")
	f.router = f.AddRouter("garden", f.network)
	f.AddServer("garden", f.network, "10.0.0.5", "ACTIVE")
	f.store = klustertest.BuildStore(t, func(builder *clientfake.ClientBuilder) {
		builder.WithIndex(&kubernikusv1.Kluster{}, byRouter, routerKeys)
	},
		append(objects, klustertest.Secret("k-secret", f.AuthURL(), "gardener", "password", "garden", nil))...)
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	meters, err := NewMeters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	f.r = &reconciler{
		client: f.store.Client(), live: f.store.Live(), clients: clients, config: defaults().RouteGC, fence: func() error { return f.lost }, clock: f.clock,
		recorder: f.recorder, meters: meters, passes: &kluster.Pool[passed]{Limit: 2, Timeout: time.Minute}, wakes: &Wakes{}, memory: newMemory(),
	}
	f.queue = klustertest.Queue(t)
	if err := f.r.passes.Start(t.Context(), f.queue); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if k, ok := object.(*kubernikusv1.Kluster); ok {
			f.change(k, routedBy(f.router))
		}
	}
	return f
}

func routedBy(id string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.Openstack.RouterID = id }
}

// change edits a Kluster as its user.
func (f *flow) change(k *kubernikusv1.Kluster, how func(*kubernikusv1.Kluster)) {
	f.t.Helper()
	f.store.Change(k, func() { how(k) })
}

func (f *flow) get(k *kubernikusv1.Kluster) *kubernikusv1.Kluster {
	f.t.Helper()
	if err := f.store.Get(f.t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
		f.t.Fatal(err)
	}
	return k
}

func (f *flow) reconcile(k *kubernikusv1.Kluster) reconcile.Result {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// pass advances the clock and reconciles once. It returns the condition.
func (f *flow) pass(k *kubernikusv1.Kluster, after time.Duration) string {
	f.t.Helper()
	f.clock.SetTime(f.clock.Now().Add(after))
	f.reconcile(k)
	if f.r.passes.Running(client.ObjectKeyFromObject(k)) || f.queue.Len() > 0 {
		f.woken()
	}
	f.reconcile(k)
	return klustertest.Condition(f.get(k), kubernikusv1.ConditionRoutesClean)
}

// woken waits for the end of a reconciliation.
func (f *flow) woken() types.NamespacedName {
	request, _ := f.queue.Get()
	f.queue.Done(request)
	return request.NamespacedName
}

func (f *flow) wantRoutes(n int) {
	f.t.Helper()
	if left := f.Routes(f.router); len(left) != n {
		f.t.Errorf("left %v, want %d", left, n)
	}
}

// orphan sets the routes: one live, one orphan, one without owner and one of a sibling.
func (f *flow) orphan() {
	f.SetRoutes(f.router, routes("100.100.1.0/24 10.0.0.5", "100.100.3.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "192.168.0.0/24 10.0.0.77", "100.101.0.0/24 10.0.0.6")...)
}
