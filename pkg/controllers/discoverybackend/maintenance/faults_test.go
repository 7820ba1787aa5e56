// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/readiness"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// gatedEndpoints are the endpoints of all backends behind a gate.
type gatedEndpoints struct {
	*endpointsFake
	gate    *faulttest.Gate
	process int
}

func (e gatedEndpoints) Withhold(ctx context.Context, backend *gimbalv1.DiscoveryBackend, services readiness.Services) (left int, err error) {
	err = e.gate.Do(faulttest.Request{Verb: "withhold", Object: "endpoints of " + backend.Name, Write: true}, e.process, func() error {
		left, err = e.endpointsFake.Withhold(ctx, backend, services)
		return err
	})
	return left, err
}

func (e gatedEndpoints) Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (left int, err error) {
	err = e.gate.Do(faulttest.Request{Verb: "restore", Object: "endpoints of " + backend.Name, Write: true}, e.process, func() error {
		left, err = e.endpointsFake.Restore(ctx, backend)
		return err
	})
	return left, err
}

// behind lets the present process use the gate.
func (w *world) behind(g *faulttest.Gate) {
	w.backends.readiness = gatedEndpoints{w.ready, g, g.Process()}
	statuses := w.backends.client.(client.WithWatch)
	w.backends.client = g.Client(statuses, statuses)
}

// through sends updates of routes through the gate.
func (w *world) through(g *faulttest.Gate) {
	w.dynamic.PrependReactor("update", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		object := action.(ktesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		err := g.Do(faulttest.Request{Verb: "update", Object: object.GetKind() + " " + object.GetName(), Write: true}, g.Process(), func() error {
			if _, _, err := w.update(action); err != nil {
				return err
			}
			return w.dynamic.Tracker().Update(action.GetResource(), object, object.GetNamespace())
		})
		return true, object, err
	})
}

// route returns the HTTPProxy web as its user sees it.
func (w *world) route() faulttest.Inventory {
	w.Helper()
	object := w.web()
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetManagedFields(nil)
	text, err := json.Marshal(object)
	if err != nil {
		w.Fatal(err)
	}
	return faulttest.Inventory{"HTTPProxy web": string(text)}
}

// drained returns the condition Drained of a backend.
func (w *world) drained(name string) string {
	w.Helper()
	for _, c := range w.stored(name).Status.Conditions {
		if c.Type == gimbalv1.ConditionDrained {
			return string(c.Status) + "/" + c.Reason
		}
	}
	return ""
}

// TestEveryFault checks that a backend is drained and restored byte for byte, and that no other one is drained, whatever happens at any
// of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Bubble: true, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		w := newWorld(t)
		for _, name := range []string{"us", "eu"} {
			w.backend(adminNamespace, name)
			w.service("shop", name+"-web", name)
		}
		w.create(shared)
		w.through(g)
		w.behind(g)
		w.start()
		before := w.route()
		var wrong error
		set := func(name string, status gimbalv1.ClusterStatus, weights, condition string) faulttest.Act {
			return faulttest.Act{Name: name + " " + string(status), Do: func() { w.cluster(name, "clusterStatus", string(status)) }, Left: func() string {
				if got := w.weights(); got != weights {
					return "weights " + got
				}
				if got := w.drained(name); got != condition {
					return "condition " + got
				}
				return ""
			}}
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				time.Sleep(statusPeriod)
				var errs []error
				for _, name := range []string{"us", "eu"} {
					_, err := w.backends.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: adminNamespace, Name: name}})
					errs = append(errs, err)
					synctest.Wait()
				}
				_, err := w.routes.Reconcile(ctx, webKey())
				synctest.Wait()
				if w.weights() == "0 0" {
					wrong = errors.New("no backend gets any requests")
				}
				return errors.Join(append(errs, err)...)
			},
			Restart: func() {
				w.stop()
				w.boot()
				w.behind(g)
				w.start()
			},
			Acts: []faulttest.Act{
				set("us", gimbalv1.ClusterMaintenance, "0 30", "True/Drained"),
				set("us", gimbalv1.ClusterEnabled, "70 30", "False/Enabled"),
				set("eu", gimbalv1.ClusterMaintenance, "70 0", "True/Drained"),
				set("eu", gimbalv1.ClusterEnabled, "70 30", "False/Enabled"),
			},
			Check: func() error { return errors.Join(wrong, faulttest.Restored(before, w.route())) },
		}
	}}.Test(t)
}
