// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// takeImage makes the operator one without an image, which reads all from the API server.
func (w *world) takeImage() {
	w.reconciler.image, w.reconciler.cache = "", w.reconciler.live
}

// Without an image, a backend gets the condition NoImage once. Its Secret is not read, and nothing is created.
func TestWithoutImage(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	backend.Finalizers = nil
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	w.takeImage()
	if sent := w.mustReconcile(backend); !slices.Equal(sent, []string{"get DiscoveryBackend east", "apply status of DiscoveryBackend"}) {
		t.Errorf("the first reconciliation sends %q", sent)
	}
	if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "False/"+reasonNoImage {
		t.Error(got)
	}
	if sent := w.mustReconcile(backend); !slices.Equal(sent, []string{"get DiscoveryBackend east"}) {
		t.Errorf("the second pass sends %q", sent)
	}
	if w.store.Find(backend); len(backend.Finalizers) > 0 {
		t.Errorf("a backend of which nothing is made gets the finalizers %q", backend.Finalizers)
	}
}

// A discoverer that ran before the image was removed continues, but its former state is removed from the status, because it is no longer
// updated.
func TestImageIsRemoved(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend, testSecret(adminNamespace, "broken"))
	w.mustReconcile(backend)
	if len(w.errors(backend)) == 0 {
		t.Fatal("there is no error")
	}
	w.store.Find(backend)
	secret := testSecret(adminNamespace, testKubeconfig)
	w.store.Change(secret, func() { secret.Data = map[string][]byte{keyKubeconfig: []byte(testKubeconfig)} })
	w.mustReconcile(backend)
	w.mustReconcile(backend)
	if w.store.Find(backend); backend.Status.DiscovererRef == nil {
		t.Fatal("the status does not name the Deployment")
	}
	w.store.Change(secret, func() { secret.Data = nil })
	w.mustReconcile(backend)
	before := w.deployment(backend)

	w.takeImage()
	w.mustReconcile(backend)
	if after := w.deployment(backend); after == nil || after.ResourceVersion != before.ResourceVersion {
		t.Error("the Deployment was touched")
	}
	if got := w.condition(backend, gimbalv1.ConditionCredentialsValid); got != "" {
		t.Errorf("the credentials are %s", got)
	}
	if w.store.Find(backend); backend.Status.DiscovererRef != nil || len(backend.Status.Errors) > 0 {
		t.Errorf("the status is %+v", backend.Status)
	}
}

// Without an image a backend is released like with one, and all of what a former discoverer had is deleted in the same order.
func TestReleaseWithoutImage(t *testing.T) {
	own := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	slice := copiedSlice("shop", "east-web-1", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	foreign := copied("shop", "unmarked", gimbalv1.LabelBackend, "east")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "pod", Labels: selectorLabels("east")}}
	w, backend := deleted(t, adminNamespace, own, slice, foreign, pod)
	w.takeImage()
	w.referenced = []release.Result{{Left: 1}}

	sent := slices.Concat(w.mustReconcile(backend), w.mustReconcile(backend))
	if w.deployment(backend) != nil {
		t.Error("the former discoverer was not stopped")
	}
	if !w.store.Find(own) || !w.store.Find(slice) {
		t.Error("copies went while a pod was there")
	}
	w.store.Remove(pod)
	sent = slices.Concat(sent, w.mustReconcile(backend))
	if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "False/"+reasonDeletionPending || !w.store.Find(own) {
		t.Errorf("while a route refers to it the copy is there: %v, and the backend is %s", w.store.Find(own), got)
	}
	sent = slices.Concat(sent, w.mustReconcile(backend), w.mustReconcile(backend))
	for _, object := range []client.Object{own, slice, backend, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}} {
		if w.store.Find(object) {
			t.Errorf("%s stays", object.GetName())
		}
	}
	if !w.store.Find(foreign) {
		t.Error("a Service of another client has been deleted")
	}
	last := -1
	for _, step := range []string{"delete Deployment east-discoverer", "remove references of DiscoveryBackend east", "delete Service east-web", "patch DiscoveryBackend east"} {
		at := slices.Index(sent, step)
		if at <= last {
			t.Errorf("%q does not come in its turn: %q", step, sent)
		}
		last = at
	}
	for _, request := range sent {
		if strings.Contains(request, "Secret") || strings.HasPrefix(request, "apply ") && request != "apply status of DiscoveryBackend" {
			t.Errorf("it sends %q", request)
		}
	}
}

// Backends request a reconciliation whenever they are served and change, be it long after the start.
func TestFollow(t *testing.T) {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	backend := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "east", ResourceVersion: "1"}}
	backend.SetGroupVersionKind(gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"))
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Bool
		find := func(_ context.Context, kind *resourcewatch.Kind) (*schema.GroupVersionResource, error) {
			if !served.Load() {
				return nil, nil
			}
			return new(kind.WithVersion(kind.Versions[0])), nil
		}
		server := fake.NewSimpleMetadataClient(scheme, []runtime.Object{backend}...)
		set := resourcewatch.NewSet(find, resourcewatch.Source{Metadata: server}, clock.RealClock{}, resourcewatch.DiscoveryPeriod, backendKind())
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		if err := follow(set)(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- set.Start(ctx) }()
		expectRequest := func(when, want string) {
			t.Helper()
			time.Sleep(2 * resourcewatch.DiscoveryPeriod) // in which the Set rechecks what is served
			synctest.Wait()
			got := ""
			if queue.Len() > 0 {
				request, _ := queue.Get()
				got = request.String()
				queue.Done(request)
			}
			if got != want {
				t.Errorf("%s the request is for %q, want %q", when, got, want)
			}
		}
		expectRequest("while there are no DiscoveryBackends", "")
		served.Store(true)
		expectRequest("when they are served", adminNamespace+"/east")
		expectRequest("when nothing happens", "")
		backends := server.Resource(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends")).Namespace(adminNamespace)
		if err := backends.Delete(t.Context(), "east", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expectRequest("when it has been deleted", adminNamespace+"/east")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
