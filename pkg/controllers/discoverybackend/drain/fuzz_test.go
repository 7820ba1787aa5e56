// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzRoutes checks that reading and writing arbitrary routes does not panic, that a route without drained references does not
// change, and that a second write changes nothing.
func FuzzRoutes(f *testing.F) {
	for _, kind := range Kinds() {
		object := route(kind, "us-web=5", "default: web")
		if kind.Kind != "Ingress" {
			object = route(kind, "us-web=5 web mirror:us-api", "tcpproxy: us-web eu-web")
		}
		for range 2 {
			text, err := json.Marshal(object.Object)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
			if _, err := kind.Rewrite(object, drained("us")); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.Add([]byte(`{"metadata":{"managedFields":[{"manager":"discovery-maintenance","operation":"Update","fieldsV1":{"f:spec":{"f:rules":{}}}}]}}`))
	f.Add([]byte(`{"spec":{"rules":[{"backendRefs":[{"name":"us-web","weight":1e99}],"filters":{}},null,7],"routes":[{"services":{"name":"us-web"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var content map[string]any
		if err := utiljson.Unmarshal(text, &content); err != nil || content == nil {
			t.Skip()
		}
		for _, kind := range Kinds() {
			object := &unstructured.Unstructured{Object: content}
			view := kind.View(content)
			view.Services()
			if untouched := object.DeepCopy(); view.saved == nil && !view.damaged {
				if decision, err := kind.Rewrite(untouched, drained()); err != nil || decision.Write || !cmp.Equal(untouched.Object, content) {
					t.Errorf("%s: %+v, %v: %s", kind.Kind, decision, err, cmp.Diff(content, untouched.Object))
				}
			}
			handed := object.DeepCopy()
			_, _ = HandBack(handed)
			removed := object.DeepCopy()
			_, _ = kind.Remove(removed, Removal{Backend: "us", Deleted: isOf("us"), Time: epoch}, drained("eu"))
			_, _ = kind.Restore(removed, "us", existing, drained("eu"))
			kind.DiscardRemovals(removed, epoch.Add(time.Hour))
			if _, err := kind.Rewrite(object.DeepCopy(), drained("us", "eu")); err != nil {
				continue
			}
			rewrite(t, kind, object.DeepCopy(), drained("us", "eu"))
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	kind := kindOf(b, "HTTPProxy")
	plain := route(kind, "web=50 api=50", "web", "api mirror:web")
	served := route(kind, "us-web=50 web=50", "web", "api mirror:web")
	deleted := served.DeepCopy()
	rewrite(b, kind, deleted, drained("us"))
	for _, bench := range []struct {
		name   string
		object *unstructured.Unstructured
	}{{"of no backend", plain}, {"not drained", served}, {"drained", deleted}} {
		var backends Backends = fleet{}
		if bench.object == deleted {
			backends = drained("us")
		}
		b.Run(bench.name, func(b *testing.B) {
			view := kind.View(bench.object.Object)
			b.ReportAllocs()
			for b.Loop() {
				if view.Decide(backends).Write {
					b.Fatal("there is something to write")
				}
			}
		})
		b.Run(bench.name+", view", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				kind.View(bench.object.Object)
			}
		})
	}
}
