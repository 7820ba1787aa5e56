// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// flow is the controller on a store, a fake cloud and an API server.
type flow struct {
	*fake.Server
	t        *testing.T
	store    *kubetest.Server
	r        *reconciler
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	backends watchedBackends
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	// kubeconfig leads to an API server.
	kubeconfig []byte
	network    string
	router     string
}

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{Server: fake.New(fake.Options{}), t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), recorder: events.NewFakeRecorder(100), queue: klustertest.Queue(t)}
	t.Cleanup(f.Close)
	f.AddUser("gardener", "password", "garden")
	f.network = f.AddNetwork("10.0.0.0/24")
	f.router = f.AddRouter("garden", f.network)
	f.kubeconfig = servedBy(t, http.HandlerFunc(version136))
	f.store = klustertest.NewStore(t, objects...)
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	meters, err := NewMeters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	f.r = &reconciler{
		client: f.store.Client(), live: f.store.Live(), clients: clients, clock: f.clock, recorder: f.recorder, meters: meters,
		clouds: &kluster.Pool[cloudView]{Limit: 2, Timeout: time.Minute}, workloads: &kluster.Pool[workloadView]{Limit: 1, Timeout: time.Minute},
		memory: newMemory(), backends: &f.backends, here: &self.Cluster{Reader: f.store.Live()},
	}
	for _, start := range []func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error{f.r.clouds.Start, f.r.workloads.Start} {
		if err := start(t.Context(), f.queue); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// servedBy returns a kubeconfig for a server that responds so.
func servedBy(t *testing.T, handler http.Handler) []byte {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text, err := yaml.Marshal(map[string]any{
		"kind": "Config", "apiVersion": "v1", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server.URL, "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// secret returns a Secret with the credentials of the cloud and of the cluster.
func (f *flow) secret(name string) *corev1.Secret {
	return klustertest.Secret(name, f.AuthURL(), "gardener", "password", "garden", map[string][]byte{"kubeconfig": f.kubeconfig})
}

func (f *flow) reconcile(name string) reconcile.Result {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: klustertest.Namespace, Name: name}})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// settled reconciles a Kluster until both probes are complete, and reads it.
func (f *flow) settled(k *kubernikusv1.Kluster) *kubernikusv1.Kluster {
	f.t.Helper()
	key := client.ObjectKeyFromObject(k)
	f.reconcile(k.Name)
	for f.r.clouds.Running(key) || f.r.workloads.Running(key) || f.queue.Len() > 0 {
		request, _ := f.queue.Get()
		f.queue.Done(request)
		f.reconcile(request.Name)
	}
	f.store.Find(k)
	return k
}

func wantConditions(t *testing.T, k *kubernikusv1.Kluster, apiserver, openstack string) {
	t.Helper()
	if got := klustertest.Condition(k, kubernikusv1.ConditionAPIServerReachable); got != apiserver {
		t.Errorf("APIServerReachable is %s, want %s", got, apiserver)
	}
	if got := klustertest.Condition(k, kubernikusv1.ConditionOpenStackReachable); got != openstack {
		t.Errorf("OpenStackReachable is %s, want %s", got, openstack)
	}
}
