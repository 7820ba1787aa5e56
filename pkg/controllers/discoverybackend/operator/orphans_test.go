// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestSweep(t *testing.T) {
	for name, tc := range map[string]struct {
		backends []client.Object
		spoil    func(*world)
		deletes  bool
		reports  int
	}{
		"orphans":                {[]client.Object{testBackend("shop", "east")}, func(*world) {}, true, 1},
		"no backend at all":      {nil, func(*world) {}, false, 4},
		"backends are unknown":   {[]client.Object{testBackend("shop", "east")}, func(w *world) { w.fault = failing("list DiscoveryBackendList") }, false, 0},
		"services are unknown":   {[]client.Object{testBackend("shop", "east")}, func(w *world) { w.fault = failing("list ServiceList") }, false, 0},
		"slices are unknown":     {[]client.Object{testBackend("shop", "east")}, func(w *world) { w.fault = failing("list EndpointSliceList") }, false, 0},
		"a listing is not whole": {[]client.Object{testBackend("shop", "east")}, func(w *world) { w.partial = true }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			marked := copied("shop", "gone-web", gimbalv1.LabelBackend, "gone", labelManagedBy, discovererName)
			slice := copiedSlice("shop", "gone-web-1", gimbalv1.LabelBackend, "gone", labelManagedBy, discovererName)
			unmarked := copied("shop", "gone-old", gimbalv1.LegacyLabelBackend, "gone")
			kept := copied("shop", "east-web", gimbalv1.LabelBackend, "east", labelManagedBy, discovererName)
			permissions := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "permissions", Labels: map[string]string{labelName: discovererName, labelInstance: "gone", labelManagedBy: operatorName}}}
			held := permissions.DeepCopy() // by a finalizer, so that a deletion alone removes no permission
			held.Name, held.Finalizers, held.Subjects = "held", []string{"example.com/held"}, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "gone"}}
			w := newWorld(t, append(tc.backends, marked, slice, unmarked, kept, permissions, held)...)
			tc.spoil(w)
			if err := w.reconciler.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.fault = nil
			if w.store.Find(marked) == tc.deletes || w.store.Find(slice) == tc.deletes || w.store.Find(permissions) == tc.deletes {
				t.Errorf("Service: %v, slice: %v, permissions: %v", w.store.Find(marked), w.store.Find(slice), w.store.Find(permissions))
			}
			if !w.store.Find(held) || (len(held.Subjects) == 0) != tc.deletes {
				t.Errorf("the permissions that a finalizer holds have the subjects %v", held.Subjects)
			}
			if !w.store.Find(unmarked) || !w.store.Find(kept) {
				t.Error("too much has been deleted")
			}
			reports := 0
			for range len(w.recorder.Events) {
				if strings.Contains(<-w.recorder.Events, eventOrphaned) {
					reports++
				}
			}
			if reports != tc.reports {
				t.Errorf("%d reports, want %d", reports, tc.reports)
			}
		})
	}
}
