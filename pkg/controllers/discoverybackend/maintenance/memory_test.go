// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// restart replaces what a process remembers, as a new leader.
func (w *world) restart() {
	w.Helper()
	cluster := newCluster(w.set, w.watches.cluster.kinds, w.watches.cluster.others, []string{adminNamespace})
	w.routes.cluster, w.backends.cluster, w.watches = cluster, cluster, &watches{cluster: cluster}
	routes := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[routeKey]())
	w.Cleanup(routes.ShutDown)
	if err := w.watches.followRoutes(w.Context(), routes); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
}

func withoutRecord(route *unstructured.Unstructured) { route.SetAnnotations(nil) }

// setZero is a user who wants no requests for backend us.
func setZero(route *unstructured.Unstructured) {
	services := route.Object["spec"].(map[string]any)["routes"].([]any)[0].(map[string]any)["services"].([]any)
	services[0].(map[string]any)["weight"] = int64(0)
}

// TestRecordIsRemovedWithoutManager checks that a record that is removed while no manager runs is reported as lost by the next one,
// and that weights of 0 are reset.
func TestRecordIsRemovedWithoutManager(t *testing.T) {
	for name, tc := range map[string]struct {
		// meanwhile is what happens while no manager runs.
		meanwhile func(*world)
		lost      bool
		want      string
	}{
		"removed": {func(w *world) { w.edit(proxies, "shop", "web", withoutRecord) }, true, "- -"},
		"removed, and a label changed": {func(w *world) {
			w.edit(proxies, "shop", "web", withoutRecord)
			w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) { web.SetLabels(map[string]string{"a": "b"}) })
		}, true, "- -"},
		"kept": {func(*world) {}, false, "70 30"},
		"drained by an earlier release": {func(w *world) {
			w.edit(proxies, "shop", "web", withoutRecord)
			w.status("us", func(status map[string]any) { unstructured.RemoveNestedField(status, "routes", "recorded") })
		}, false, "0 30"},
		"a route that is newer": {func(w *world) {
			w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
				withoutRecord(web)
				web.SetCreationTimestamp(metav1.NewTime(time.Now().Add(time.Second)))
			})
		}, false, "0 30"},
		"maintenance is over": {func(w *world) {
			w.edit(proxies, "shop", "web", withoutRecord)
			w.cluster("us", "clusterStatus", "Enabled")
		}, false, "0 30"},
		"another specification": {func(w *world) {
			w.edit(proxies, "shop", "web", withoutRecord)
			w.cluster("us", "drainPolicy", "KeepSole")
		}, false, "0 30"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.mustCheck("us")
				w.mustCheck("eu")
				w.cluster("us", "clusterStatus", "Maintenance")
				w.mustCorrect(1)
				if got := w.mustCheck("us"); got != "True/Drained" {
					w.Fatal(got)
				}
				tc.meanwhile(w)
				w.restart()
				if _, _, err := w.correct(); err != nil {
					w.Fatal(err)
				}
				w.mustCheck("us")
				w.mustCorrect(0)
				if errs := w.stored("us").Status.Errors; tc.lost != (len(errs) == 1 && errs[0].Type == gimbalv1.ErrorWeightsLost) {
					w.Errorf("errors: %+v", errs)
				}
				w.cluster("us", "clusterStatus", "Enabled")
				w.mustCheck("us")
				w.mustCheck("us")
				if _, _, err := w.correct(); err != nil {
					w.Fatal(err)
				}
				if got := w.weights(); got != tc.want || w.record() != "" {
					w.Errorf("after maintenance: %s, record %q", got, w.record())
				}
			}, shared)
		})
	}
}

// status changes the status of a backend.
func (w *world) status(name string, how func(status map[string]any)) {
	w.Helper()
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, name, func(backend *unstructured.Unstructured) {
		how(backend.Object["status"].(map[string]any))
		backend.SetGeneration(backend.GetGeneration() - 1) // a status has none
	})
}

// TestZeroOfUser checks that a weight of 0 that a user set is retained across restarts, whether it was set before maintenance or
// while the manager runs.
func TestZeroOfUser(t *testing.T) {
	for name, before := range map[string]bool{"before maintenance": true, "while it lasts": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.mustCheck("us")
				w.mustCheck("eu")
				if before {
					w.create(shared)
					w.edit(proxies, "shop", "web", setZero)
				}
				w.cluster("us", "clusterStatus", "Maintenance")
				if before {
					w.mustCorrect(1) // a record
				}
				w.mustCheck("us")
				w.restart()
				if !before {
					w.create(shared)
					w.edit(proxies, "shop", "web", setZero)
					w.mustCorrect(1)
				}
				w.mustCorrect(0)
				w.mustCheck("us")
				w.restart()
				w.mustCorrect(0)
				w.mustCheck("us")
				if errs := w.stored("us").Status.Errors; len(errs) > 0 {
					w.Errorf("errors: %+v", errs)
				}
				w.cluster("us", "clusterStatus", "Enabled")
				w.mustCheck("us")
				w.mustCheck("us")
				w.mustCorrect(1)
				if got := w.weights(); got != "0 30" || w.record() != "" {
					w.Errorf("after maintenance: %s, record %q", got, w.record())
				}
			})
		})
	}
}
