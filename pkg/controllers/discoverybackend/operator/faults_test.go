// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// gatedReferences are references that are removed through a gate.
type gatedReferences struct {
	*faulttest.Gate
	process int
	world   *world
}

func (r gatedReferences) Remove(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (result release.Result, err error) {
	err = r.Do(faulttest.Request{Verb: "remove", Object: "references of " + backend.Name, Write: true}, r.process, func() error {
		result, err = r.world.Remove(ctx, backend)
		return err
	})
	return result, err
}

// restart starts another process, which is behind the gate.
func (w *world) restart(g *faulttest.Gate) {
	r := w.reconciler
	cached, live := g.Client(w.store.Client(), w.store), g.Live(w.store.Live(), w.store)
	w.reconciler = &reconciler{
		allowed: strict(),
		cache:   cached, live: live, client: cached, image: r.image, admins: r.admins, clock: w.clock, recorder: w.recorder, memory: newMemory(),
		references: gatedReferences{g, g.Process(), w}, meters: r.meters,
	}
}

// TestEveryFault checks that a backend that is created and deleted leaves nothing behind, and that the copies of other backends and
// the objects of others remain, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		own := []client.Object{
			copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName),
			copied("bank", "east-old", gimbalv1.LegacyLabelBackend, "east", labelManagedBy, discovererName),
			copiedSlice("shop", "east-web-1", gimbalv1.LabelBackend, "east", discoveryv1.LabelManagedBy, discovererName),
		}
		west := testBackend(adminNamespace, "west")
		w := newWorld(t, slices.Concat(own, []client.Object{
			copied("shop", "unmarked", gimbalv1.LabelBackend, "east"),
			copied("shop", "west-web", gimbalv1.LabelBackend, "west", labelManagedBy, discovererName),
			copiedSlice("shop", "west-web-1", gimbalv1.LabelBackend, "west", discoveryv1.LabelManagedBy, discovererName),
			copiedSlice("shop", "east-web-2", gimbalv1.LabelBackend, "east", discoveryv1.LabelManagedBy, "endpointslice-controller.k8s.io"),
			west, testSecret(adminNamespace, testKubeconfig),
		})...)
		w.mustReconcile(west)
		there := func() faulttest.Inventory {
			return faulttest.Objects(t, w.store, &gimbalv1.DiscoveryBackendList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &rbacv1.ClusterRoleBindingList{})
		}
		before := there()
		w.restart(g)
		backend := testBackend(adminNamespace, "east")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "pod", Labels: selectorLabels("east")}}
		doomed := func(name string) bool {
			return strings.Contains(name, "/east-web") || strings.Contains(name, "/east-old")
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				// The pod runs as long as its Deployment. One of another client makes no such pod.
				deployment := w.deployment(backend)
				if deployed := deployment != nil && !g.IsStranger(deployment, deployment.Namespace, deployment.Name); deployed && !w.store.Find(pod.DeepCopy()) {
					w.store.Add(pod.DeepCopy())
				} else if !deployed && w.store.Find(pod.DeepCopy()) {
					w.store.Remove(pod.DeepCopy())
				}
				_, err := w.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(backend)})
				return err
			},
			Restart: func() { w.restart(g) }, Freeze: w.store.FreezeAround(&gimbalv1.DiscoveryBackend{}), Thaw: w.store.CatchUp,
			Acts: []faulttest.Act{
				{Name: "create", Do: func() { w.store.Add(testBackend(adminNamespace, "east")) }, Left: func() string {
					if w.deployment(backend) == nil {
						return "the Deployment"
					}
					return ""
				}},
				{Name: "delete", Do: func() { w.store.Remove(testBackend(adminNamespace, "east")) }, Left: func() string {
					if w.store.Find(backend.DeepCopy()) {
						return "the backend"
					}
					return ""
				}},
			},
			Check: func() error {
				errs := []error{faulttest.Living(before, there(), func(name string) bool { return doomed(name) && name != "EndpointSlice shop/east-web-2" })}
				for _, object := range append(own, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: roleServices + "-east"}}) {
					found := object.DeepCopyObject().(client.Object)
					if w.store.Find(found) && !g.IsStranger(object, object.GetNamespace(), object.GetName()) {
						errs = append(errs, fmt.Errorf("%s is left", describe(found)))
					}
				}
				return errors.Join(errs...)
			},
		}
	}}.Test(t)
}
