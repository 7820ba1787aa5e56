// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// flow is the controller on a store.
type flow struct {
	t        *testing.T
	store    *kubetest.Server
	r        *reconciler
	recorder *events.FakeRecorder
}

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{t: t, recorder: events.NewFakeRecorder(100)}
	f.store = klustertest.BuildStore(t, func(builder *fake.ClientBuilder) {
		builder.WithIndex(&kubernikusv1.Kluster{}, byName, nameKeys)
	}, objects...)
	f.r = &reconciler{client: f.store.Client(), live: f.store.Live(), clock: clocktesting.NewFakePassiveClock(time.Now()), recorder: f.recorder}
	return f
}

// reconcile reconciles once, and returns the condition.
func (f *flow) reconcile(k *kubernikusv1.Kluster) (string, reconcile.Result) {
	f.t.Helper()
	result, err := instrument.Reconciler(ControllerName, f.r).Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.store.Find(k)
	return klustertest.Condition(k, kubernikusv1.ConditionAnnounced), result
}

// want reconciles once and checks the condition.
func (f *flow) want(k *kubernikusv1.Kluster, condition string) {
	f.t.Helper()
	if got, _ := f.reconcile(k); got != condition {
		f.t.Errorf("Announced is %q, want %q: %+v", got, condition, current(k))
	}
}

// quiet reconciles once that writes nothing.
func (f *flow) quiet(k *kubernikusv1.Kluster) {
	f.t.Helper()
	before := f.store.Count()
	f.reconcile(k)
	if now := f.store.Writes()[before:]; len(now) > 0 {
		f.t.Errorf("nothing has changed, and it writes: %v", now)
	}
}

// drain does the work of the controller of maintenance.
func (f *flow) drain(backend *gimbalv1.DiscoveryBackend) {
	f.t.Helper()
	f.store.ChangeStatus(backend, func() { drained(backend, "True", "Drained", "") })
}

// there reads what is announced, and reports about what there is anything.
func (f *flow) there(k *kubernikusv1.Kluster, namespace string) (backend *gimbalv1.DiscoveryBackend, secret *corev1.Secret) {
	f.t.Helper()
	backend, secret = &gimbalv1.DiscoveryBackend{}, &corev1.Secret{}
	backend.Namespace, backend.Name = namespace, k.Name
	secret.Namespace, secret.Name = namespace, secretName(k)
	if !f.store.Find(backend) {
		backend = nil
	}
	if !f.store.Find(secret) {
		secret = nil
	}
	return backend, secret
}

// events returns those since the last call.
func (f *flow) events() string { return strings.Join(kubetest.Events(f.recorder), "\n") }

// credentials returns the Secret of a Kluster.
func credentials(name, server string) *corev1.Secret {
	return klustertest.Secret(name, "https://keystone.example", "u", hidden, "p", map[string][]byte{kluster.KeyKubeconfig: kubeconfigFor(server)})
}

// newAnnounced returns a flow with a Kluster that is announced.
func newAnnounced(t *testing.T) (*flow, *kubernikusv1.Kluster) {
	t.Helper()
	k := klustertest.Kluster("k", toBeAnnounced)
	f := newFlow(t, k, credentials("k-secret", "https://a.example"))
	f.want(k, "True/Announced")
	f.events()
	f.store.ResetLog()
	return f, k
}
