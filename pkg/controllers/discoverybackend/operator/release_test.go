// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
)

// copied returns a Service with labels, as key and value in turns.
func copied(namespace, name string, labels ...string) *corev1.Service {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		service.Labels[labels[i]] = labels[i+1]
	}
	return service
}

func copiedSlice(namespace, name string, labels ...string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: copied(namespace, name, labels...).ObjectMeta, AddressType: discoveryv1.AddressTypeIPv4}
}

// deleted returns a world with a backend that is being deleted after its discoverer ran.
func deleted(t *testing.T, namespace string, objects ...client.Object) (*world, *gimbalv1.DiscoveryBackend) {
	t.Helper()
	backend := testBackend(namespace, "east")
	w := newWorld(t, append(objects, backend, testSecret(namespace, testKubeconfig))...)
	w.mustReconcile(backend)
	w.store.Remove(backend)
	return w, backend
}

// TestRelease checks that the discoverer is stopped before its copies are deleted, that they are deleted before the backend is, and
// that no other object is deleted.
func TestRelease(t *testing.T) {
	own := []client.Object{
		copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName),
		copied("bank", "east-old", gimbalv1.LegacyLabelBackend, "east", labelManagedBy, discovererName),
		copiedSlice("shop", "east-web-1", gimbalv1.LabelBackend, "east", discoveryv1.LabelManagedBy, discovererName),
	}
	others := []client.Object{
		copied("shop", "unmarked", gimbalv1.LabelBackend, "east"),
		copied("shop", "marked-by-another", gimbalv1.LabelBackend, "east", labelManagedBy, "helm"),
		copied("shop", "of-another-backend", gimbalv1.LabelBackend, "west", labelManagedBy, discovererName),
		copied("shop", "of-another-by-the-newer-label", gimbalv1.LabelBackend, "west", gimbalv1.LegacyLabelBackend, "east", labelManagedBy, discovererName),
		copied("shop", "plain", labelManagedBy, discovererName),
		copiedSlice("shop", "unmarked", gimbalv1.LabelBackend, "east", discoveryv1.LabelManagedBy, "endpointslice-controller.k8s.io"),
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "pod", Labels: selectorLabels("east")}}
	w, backend := deleted(t, adminNamespace, append(append(slices.Clone(own), others...), pod)...)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}

	w.mustReconcile(backend)
	if w.deployment(backend) != nil {
		t.Fatal("the discoverer was not stopped")
	}
	if got := w.condition(backend, gimbalv1.ConditionAvailable); got != "False/"+reasonDeletionPending {
		t.Error(got)
	}
	_, result, err := w.reconcile(backend)
	if err != nil || result.RequeueAfter != waitPeriod {
		t.Fatalf("with a pod: %v, %v", result, err)
	}
	for _, object := range own {
		if !w.store.Find(object) {
			t.Fatalf("%s went while a pod was there", describe(object))
		}
	}
	w.store.Remove(pod)
	w.mustReconcile(backend)
	for _, object := range own {
		if w.store.Find(object) {
			t.Errorf("%s stays", object.GetName())
		}
	}
	if w.store.Find(binding) {
		t.Error("permission to all Services stays")
	}
	if !w.store.Find(backend) {
		t.Fatal("the backend went with its copies, unchecked")
	}
	w.mustReconcile(backend)
	if w.store.Find(backend) {
		t.Error("the backend stays")
	}
	for _, object := range others {
		if !w.store.Find(object) {
			t.Errorf("%s of another client has been deleted", object.GetName())
		}
	}
}

// TestReleaseWithALateCache checks that the permissions of a backend that is deleted before the cache has them are removed.
func TestReleaseWithALateCache(t *testing.T) {
	backend := testBackend(adminNamespace, "east")
	w := newWorld(t, backend, testSecret(adminNamespace, testKubeconfig))
	w.reconciler.cache, w.reconciler.live = w.store.Client(), w.store.Live()
	w.store.Freeze(&gimbalv1.DiscoveryBackend{})
	w.mustReconcile(backend)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}
	if !w.store.Find(binding) {
		t.Fatal("the discoverer has no permission to write Services")
	}
	w.store.Remove(backend)
	for range 3 {
		w.mustReconcile(backend)
	}
	if w.store.Find(backend) || w.store.Find(binding) {
		t.Errorf("backend exists = %t, binding exists = %t, want neither", w.store.Find(backend), w.store.Find(binding))
	}
}

// TestReleaseWaitsForReferences checks that the copies are retained until no route refers to them. References that cannot be
// removed are reported and do not block.
func TestReleaseWaitsForReferences(t *testing.T) {
	service := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	w, backend := deleted(t, adminNamespace, service)
	w.mustReconcile(backend) // stops the discoverer
	kept := []string{"Ingress shop/old: it would have no backend"}
	w.referenced = []release.Result{
		{Removed: []string{"HTTPProxy shop/a", "HTTPProxy shop/b", "HTTPProxy shop/c", "HTTPProxy shop/d"}, Left: 2, Kept: kept},
		{Rejected: []string{"update HTTPProxy shop/e: by a webhook"}, Kept: kept},
		{Kept: kept},
	}
	for _, want := range []string{"the references of 2 more routes are removed", "the references of 1 route cannot be removed: update HTTPProxy shop/e: by a webhook"} {
		if _, result, err := w.reconcile(backend); err != nil || result.RequeueAfter != waitPeriod {
			t.Fatalf("%v, %v", result, err)
		}
		w.store.Find(backend)
		if got := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAvailable); got == nil || got.Message != want {
			t.Errorf("the condition is %v, want %q", got, want)
		}
		removed := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionReferencesRemoved)
		const routes = "removed from 4 routes: HTTPProxy shop/a, HTTPProxy shop/b, HTTPProxy shop/c, HTTPProxy shop/d"
		if removed == nil || removed.Status != metav1.ConditionTrue || removed.Message != routes {
			t.Errorf("condition ReferencesRemoved = %v, want %q", removed, routes)
		}
		if !w.store.Find(service) {
			t.Fatal("a copy went while a route referred to it")
		}
	}
	w.mustReconcile(backend)
	if w.store.Find(service) {
		t.Error("the copy stays")
	}
	var reported string
	for range len(w.recorder.Events) {
		reported += <-w.recorder.Events + "\n"
	}
	for _, want := range []string{
		"Normal ReferencesRemoved removed the references from 4 routes: HTTPProxy shop/a, HTTPProxy shop/b, HTTPProxy shop/c, HTTPProxy shop/d",
		"Warning ReferencesKept 1 reference to what is being deleted: Ingress shop/old: it would have no backend",
	} {
		if !strings.Contains(reported, want) {
			t.Errorf("no event %q, but:\n%s", want, reported)
		}
	}
}

// TestReleaseStaysInReach checks that a backend outside the admin namespaces deletes objects in its own namespace only.
func TestReleaseStaysInReach(t *testing.T) {
	own := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	beyond := copied("bank", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	w, backend := deleted(t, "shop", own, beyond)
	for range 4 {
		w.mustReconcile(backend)
	}
	if w.store.Find(own) || !w.store.Find(beyond) || w.store.Find(backend) {
		t.Errorf("own: %v, beyond: %v, backend: %v", w.store.Find(own), w.store.Find(beyond), w.store.Find(backend))
	}
}

// TestReleaseGuards checks that nothing is deleted or released after a failed or incomplete list.
func TestReleaseGuards(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"services cannot be listed": func(w *world) { w.fault = failing("list ServiceList") },
		"slices cannot be listed":   func(w *world) { w.fault = failing("list EndpointSliceList") },
		"pods cannot be listed":     func(w *world) { w.fault = failing("list PodList") },
		"routes cannot be listed":   func(w *world) { w.fault = failing("remove references") },
		"a listing is partial":      func(w *world) { w.partial = true },
		"the Deployment is unknown": func(w *world) { w.fault = failing("get Deployment") },
	} {
		t.Run(name, func(t *testing.T) {
			service := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
			slice := copiedSlice("shop", "east-web-1", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
			w, backend := deleted(t, adminNamespace, service, slice)
			w.mustReconcile(backend) // stops the discoverer
			spoil(w)
			if _, _, err := w.reconcile(backend); err == nil {
				t.Error("no error")
			}
			w.fault = nil
			if !w.store.Find(service) || !w.store.Find(slice) || !w.store.Find(backend) {
				t.Error("something has been deleted")
			}
		})
	}
}

// failing fails the requests that start with a text.
func failing(prefix string) func(string) error {
	return func(request string) error {
		if strings.HasPrefix(request, prefix) {
			return errors.New("no response")
		}
		return nil
	}
}

// TestReleaseDeletesWhatItRead checks that an object that was recreated after the list is not deleted.
func TestReleaseDeletesWhatItRead(t *testing.T) {
	service := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
	w, backend := deleted(t, adminNamespace, service)
	w.mustReconcile(backend)
	w.fault = func(request string) error {
		if request == "delete Service east-web" {
			w.store.Remove(service)
			service = copied("shop", "east-web")
			service.UID = "another"
			w.store.Add(service)
		}
		return nil
	}
	if _, _, err := w.reconcile(backend); !apierrors.IsConflict(err) {
		t.Errorf("error = %v, want a conflict", err)
	}
	if !w.store.Find(service) {
		t.Error("the Service of another owner has been deleted")
	}
}

// TestReleaseLeavesAForeignDeployment checks that another client's Deployment neither blocks nor is deleted.
func TestReleaseLeavesAForeignDeployment(t *testing.T) {
	w, backend := deleted(t, adminNamespace)
	deployment := w.deployment(backend)
	w.store.Change(deployment, func() { deployment.OwnerReferences = nil })
	for range 3 {
		if _, _, err := w.reconcile(backend); err != nil {
			t.Fatal(err)
		}
	}
	if w.deployment(backend) == nil || w.store.Find(backend) {
		t.Error("the Deployment has been deleted, or the backend waits")
	}
}

// TestReleaseInParts checks that one reconciliation deletes a limited number of copies.
func TestReleaseInParts(t *testing.T) {
	var objects []client.Object
	for i := range maxDeletions + 1 {
		objects = append(objects, copied("shop", fmt.Sprintf("east-%d", i), gimbalv1.LabelBackend, "east", labelManagedBy, discovererName))
	}
	w, backend := deleted(t, adminNamespace, objects...)
	w.mustReconcile(backend)
	w.mustReconcile(backend)
	left := &corev1.ServiceList{}
	if err := w.store.List(t.Context(), left); err != nil || len(left.Items) != 1 {
		t.Errorf("%d are left, %v", len(left.Items), err)
	}
}

func TestFitting(t *testing.T) {
	a, b, c := strings.Repeat("a", maxListed/2-2), strings.Repeat("b", maxListed/2-2), strings.Repeat("c", 4)
	for want, names := range map[string][]string{"": nil, "a": {"a"}, a + ", " + b: {a, b}, a + ", " + b + " and 2 more": {a, b, c, "d"}} {
		t.Run(fmt.Sprintf("%d names", len(names)), func(t *testing.T) {
			if got := fitting(names); got != want {
				t.Errorf("%q = %q, want %q", names, got, want)
			}
		})
	}
}
