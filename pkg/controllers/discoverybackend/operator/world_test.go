// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const (
	adminNamespace = "gimbal-discovery"
	testKubeconfig = `{"kind":"Config","apiVersion":"v1","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://backend.example"}}],
"users":[{"name":"u","user":{"token":"TOKEN"}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`
)

// world is a reconciler on a store that merges what is applied as an API server does. It counts the requests that
// leave the process, and can fail each of them.
type world struct {
	t *testing.T
	// store is the truth, past the counting.
	store      *kubetest.Server
	reconciler *reconciler
	recorder   *events.FakeRecorder
	clock      *clocktesting.FakePassiveClock

	mu       sync.Mutex
	requests []string
	// fault may fail a request.
	fault func(request string) error
	// partial makes listings of metadata report that there is more.
	partial bool
	// referenced are the responses about references, one a reconciliation; without any there are no references.
	referenced []release.Result
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))}
	w.store = kubetest.Build(t, func(builder *fake.ClientBuilder) { builder.WithReturnManagedFields() }, objects...)
	meters, err := newMeters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	funcs := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return w.request("get", object, key, func() error { return c.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return w.request("list", list, client.ObjectKey{}, func() error {
				err := c.List(ctx, list, options...)
				if w.partial {
					list.SetContinue("more")
				}
				return err
			})
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return w.request("apply", object, client.ObjectKey{}, func() error { return c.Apply(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return w.request("patch", object, client.ObjectKeyFromObject(object), func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return w.request("delete", object, client.ObjectKeyFromObject(object), func() error { return c.Delete(ctx, object, options...) })
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("the operator applies, it does not create")
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return w.request("apply "+name+" of", object, client.ObjectKey{}, func() error {
				return c.SubResource(name).Apply(ctx, object, options...)
			})
		},
	}
	counted, live := interceptor.NewClient(w.store.Client(), funcs), interceptor.NewClient(w.store.Live(), funcs)
	w.reconciler = &reconciler{
		allowed: strict(),
		cache:   w.store, live: live, client: counted, image: "registry.example/discoverer:v1", admins: []string{adminNamespace},
		clock: w.clock, recorder: w.recorder, memory: newMemory(), references: w, meters: meters,
	}
	return w
}

// Remove implements references.
func (w *world) Remove(_ context.Context, backend *gimbalv1.DiscoveryBackend) (result release.Result, err error) {
	err = w.request("remove references of", backend, client.ObjectKeyFromObject(backend), func() error {
		if len(w.referenced) > 0 {
			result, w.referenced = w.referenced[0], w.referenced[1:]
		}
		return nil
	})
	return result, err
}

// request counts and sends a request, or fails it.
func (w *world) request(verb string, object any, key client.ObjectKey, send func() error) error {
	kind := strings.TrimSuffix(fmt.Sprintf("%T", object), "ApplyConfiguration")
	if metadata, ok := object.(runtime.Object); ok && strings.Contains(kind, "PartialObjectMetadata") {
		kind = metadata.GetObjectKind().GroupVersionKind().Kind
	}
	entry := strings.TrimSpace(verb + " " + kind[strings.LastIndex(kind, ".")+1:] + " " + key.Name)
	w.mu.Lock()
	w.requests = append(w.requests, entry)
	fault := w.fault
	w.mu.Unlock()
	if fault != nil {
		if err := fault(entry); err != nil {
			return err
		}
	}
	return send()
}

// reconcile runs one reconciliation over a backend and returns the requests that it sent.
func (w *world) reconcile(backend *gimbalv1.DiscoveryBackend) (sent []string, result reconcile.Result, err error) {
	w.t.Helper()
	w.requests = nil
	result, err = w.reconciler.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(backend)})
	return w.requests, result, err
}

// mustReconcile returns a reconciliation that succeeds.
func (w *world) mustReconcile(backend *gimbalv1.DiscoveryBackend) []string {
	w.t.Helper()
	sent, _, err := w.reconcile(backend)
	if err != nil {
		w.t.Fatal(err)
	}
	return sent
}

// deployment reads the Deployment of a backend, nil when there is none.
func (w *world) deployment(backend *gimbalv1.DiscoveryBackend) *appsv1.Deployment {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: partName(backend)}}
	if !w.store.Find(deployment) {
		return nil
	}
	return deployment
}

// condition returns a condition of a backend as stored, as Status/Reason.
func (w *world) condition(backend *gimbalv1.DiscoveryBackend, kind string) string {
	w.t.Helper()
	current := backend.DeepCopy()
	if !w.store.Find(current) {
		return "gone"
	}
	if c := meta.FindStatusCondition(current.Status.Conditions, kind); c != nil {
		return string(c.Status) + "/" + c.Reason
	}
	return ""
}

// errors returns the entries of status.errors as stored, as Type: message.
func (w *world) errors(backend *gimbalv1.DiscoveryBackend) []string {
	w.t.Helper()
	current := backend.DeepCopy()
	w.store.Find(current)
	var entries []string
	for _, entry := range current.Status.Errors {
		entries = append(entries, entry.Type+": "+entry.Message)
	}
	return entries
}

func testBackend(namespace, name string) *gimbalv1.DiscoveryBackend {
	backend := &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name + "-uid"), Generation: 1, Finalizers: []string{gimbalv1.FinalizerName}},
		Cluster:    gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "creds"},
	}
	gimbalv1.Normalize(backend)
	return backend
}

func testSecret(namespace, content string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "creds", UID: "secret-uid"},
		Data:       map[string][]byte{keyKubeconfig: []byte(content)},
	}
}
