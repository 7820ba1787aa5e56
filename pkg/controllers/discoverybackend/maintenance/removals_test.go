// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// keepRemoved is how long routes of the tests keep a record of removed references.
const keepRemoved = 7 * 24 * time.Hour

// TestExpiredRemovalsAreDiscarded checks that a record of removed references is removed once it is old enough, with one write and
// none before or after.
func TestExpiredRemovalsAreDiscarded(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCorrect(0)
		removal := drain.Removal{Backend: "gone", Time: time.Now(), Deleted: func(service types.NamespacedName) bool { return service.Name == "gone-web" }}
		w.edit(webKey().resource.WithVersion("v1"), "shop", "web", func(route *unstructured.Unstructured) {
			services := route.Object["spec"].(map[string]any)["routes"].([]any)[0].(map[string]any)
			services["services"] = append(services["services"].([]any), map[string]any{"name": "gone-web", "port": int64(80)})
			if removed, err := drain.Kinds()[0].Remove(route, removal, &membership{}); err != nil || !removed.Changed {
				w.Fatalf("removed %+v, %v", removed, err)
			}
		})
		recorded := func() bool {
			found, err := w.dynamic.Tracker().Get(webKey().resource.WithVersion("v1"), "shop", "web")
			if err != nil {
				w.Fatal(err)
			}
			return found.(*unstructured.Unstructured).GetAnnotations()[gimbalv1.AnnotationRemovedReferences] != ""
		}
		result, wrote, err := w.correct()
		if err != nil || len(wrote) > 0 || !recorded() || result.RequeueAfter <= keepRemoved-time.Minute || result.RequeueAfter > keepRemoved {
			w.Fatalf("result = %+v, wrote %q, %v; recorded = %t", result, wrote, err, recorded())
		}
		time.Sleep(result.RequeueAfter)
		w.mustCorrect(1)
		if recorded() {
			w.Error("the record stays")
		}
		w.mustCorrect(0)
	}, shared)
}
