// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// TestDrainAndRestore checks that a route is drained with one write and restored with another, with none in between.
func TestDrainAndRestore(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCorrect(0)
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		if got := w.weights(); got != "0 30" || w.record() == "" {
			w.Errorf("drained: %s, record %q", got, w.record())
		}
		w.mustCorrect(0)
		w.cluster("us", "clusterStatus", "Enabled")
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" || w.record() != "" {
			w.Errorf("restored: %s, record %q", got, w.record())
		}
		w.mustCorrect(0)
	}, shared)
}

// TestNothingIsWrittenFromPartialData checks that incomplete data causes no write, neither to drain nor to restore.
func TestNothingIsWrittenFromPartialData(t *testing.T) {
	down := apierrors.NewServiceUnavailable("down")
	for name, resource := range map[string]schema.GroupResource{
		"the backends": backendsResource, "the Services": servicesResource, "the kind of the route": proxies.GroupResource(),
	} {
		for _, from := range []string{"Enabled", "Maintenance"} {
			for what, err := range map[string]error{"not responded for": down, "not served": nil} {
				t.Run(name+" "+what+" after "+from, func(t *testing.T) {
					inWorld(t, func(w *world) {
						w.mustCheck("us")
						w.cluster("us", "clusterStatus", from)
						_, _, _ = w.correct()
						before := w.weights()
						other := map[string]string{"Enabled": "Maintenance", "Maintenance": "Enabled"}[from]
						w.cluster("us", "clusterStatus", other)
						w.mu.Lock()
						w.unserved[resource] = err
						w.mu.Unlock()
						w.set.Recheck()
						time.Sleep(10 * time.Second)
						synctest.Wait()
						if _, wrote, err := w.correct(); err != nil || len(wrote) > 0 || w.weights() != before {
							w.Errorf("wrote %q, %v; the weights are %s", wrote, err, w.weights())
						}
					}, shared)
				})
			}
		}
	}
}

// TestHeld checks that, after startup, weights are not written until it is known that no endpoint is withheld. Drained routes
// remain drained, and others unchanged.
func TestHeld(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCorrect(0)
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		w.cluster("us", "clusterStatus", "Enabled")
		w.mustCorrect(0)
		if got := w.weights(); got != "0 30" {
			w.Errorf("restored before the endpoints: %s", got)
		}
		w.mustCheck("us")
		w.mustCorrect(1)
	}, shared)
}

// TestConflict checks that a route that changed since it was read is read again.
func TestConflict(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.fault = func(*unstructured.Unstructured) error {
			return apierrors.NewConflict(proxies.GroupResource(), "web", errors.New("it changed"))
		}
		if result, _, err := w.correct(); err != nil || result.RequeueAfter != minPause {
			w.Errorf("%+v, %v", result, err)
		}
		w.fault = nil
		w.mustCorrect(1)
	}, shared)
}

// TestRejectedWrites checks that a write that the API server rejects is reported and retried later, and that a temporary failure is
// an error.
func TestRejectedWrites(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		for _, err := range []error{
			apierrors.NewForbidden(proxies.GroupResource(), "web", errors.New("frozen")),
			apierrors.NewInvalid(schema.GroupKind{Kind: "HTTPProxy"}, "web", nil),
			apierrors.NewInternalError(errors.New("failed calling webhook")),
		} {
			w.fault = func(*unstructured.Unstructured) error { return err }
			if result, _, err := w.correct(); err != nil || result.RequeueAfter != rejectedPeriod {
				w.Errorf("%+v, %v", result, err)
			}
			if got := w.mustCheck("us"); got != "False/"+reasonRefused {
				w.Error(got)
			}
			if errs := w.stored("us").Status.Errors; len(errs) != 1 || errs[0].Type != gimbalv1.ErrorRouteRefused || !strings.Contains(errs[0].Message, err.Error()) {
				w.Errorf("errors: %+v", errs)
			}
		}
		for _, err := range []error{apierrors.NewTooManyRequests("later", 1), apierrors.NewServiceUnavailable("later"), errors.New("no connection")} {
			w.fault = func(*unstructured.Unstructured) error { return err }
			if _, _, err := w.correct(); err == nil {
				w.Error("no error")
			}
		}
		w.fault = nil
		w.mustCorrect(1)
		if got := w.mustCheck("us"); got != "True/"+reasonDrained || len(w.stored("us").Status.Errors) > 0 {
			w.Errorf("%s, %+v", got, w.stored("us").Status.Errors)
		}
	}, shared)
}

// TestHandBack checks that fields are handed back to their owners by a second write, if necessary by the next reconciliation after
// a crash.
func TestHandBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
			web.SetManagedFields([]metav1.ManagedFieldsEntry{{
				Manager: "user", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "projectcontour.io/v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:routes":{}}}`),
			}})
		})
		w.cluster("us", "clusterStatus", "Maintenance")
		taken := []metav1.ManagedFieldsEntry{{
			Manager: drain.Manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "projectcontour.io/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:gimbal.heptio.com/saved-weights":{}}},"f:spec":{"f:routes":{}}}`),
		}}
		// The fake store has no managed fields: the first write takes the ownership, as in an API server, and then fails.
		count := 0
		w.fault = func(object *unstructured.Unstructured) error {
			if count++; count == 1 {
				object.SetManagedFields(taken)
				return nil
			}
			return errors.New("the process died")
		}
		if _, wrote, err := w.correct(); err == nil || len(wrote) != 1 {
			w.Errorf("wrote %q, %v", wrote, err)
		}
		w.fault = nil
		w.mustCorrect(1)
		if entries := w.web().GetManagedFields(); len(entries) != 2 || w.weights() != "0 30" {
			w.Errorf("%s, %+v", w.weights(), entries)
		}
		w.mustCorrect(0)
	}, shared)
}

// TestRecordIsRemembered checks that a record that a user removes is restored from the controller's memory.
func TestRecordIsRemembered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		w.mustCorrect(0)
		record := w.record()
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) { web.SetAnnotations(nil) })
		w.mustCorrect(1)
		if w.record() != record {
			w.Errorf("the record is %s", w.record())
		}
		w.cluster("us", "clusterStatus", "Enabled")
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" || w.record() != "" {
			w.Errorf("%s, record %q", got, w.record())
		}
		w.mustCorrect(0) // Groundskeeper's own removal remains
	}, shared)
}

// TestRecordIsDamaged checks that a damaged record is restored from the controller's memory, and that no weight is lost.
func TestRecordIsDamaged(t *testing.T) {
	for _, damaged := range []string{"{", "null", `{"rules":7}`} {
		inWorld(t, func(w *world) {
			w.mustCheck("us")
			w.mustCheck("eu")
			w.cluster("us", "clusterStatus", "Maintenance")
			w.mustCorrect(1)
			record := w.record()
			w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
				web.SetAnnotations(map[string]string{gimbalv1.AnnotationSavedWeights: damaged})
			})
			w.mustCorrect(1)
			if w.record() != record || w.weights() != "0 30" {
				w.Errorf("%s: weights %q, record %s", damaged, w.weights(), w.record())
			}
			if w.mustCheck("us"); len(w.stored("us").Status.Errors) > 0 {
				w.Errorf("errors: %+v", w.stored("us").Status.Errors)
			}
			w.cluster("us", "clusterStatus", "Enabled")
			w.mustCheck("us")
			w.mustCorrect(1)
			if got := w.weights(); got != "70 30" {
				w.Errorf("%s: restored to %q", damaged, got)
			}
		}, shared)
	}
}

// TestRecordIsDeletedWithItsBackend checks that the record of a deleted backend is removed, even where its reference has to remain
// with weight 0.
func TestRecordIsDeletedWithItsBackend(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		w.mustCorrect(0)
		w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, "us", func(backend *unstructured.Unstructured) {
			backend.SetFinalizers([]string{gimbalv1.FinalizerName})
			backend.SetDeletionTimestamp(new(metav1.Now()))
		})
		w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) { web.SetAnnotations(nil) })
		w.mustCorrect(0)
		if got := w.weights(); got != "0 30" || w.record() != "" {
			w.Errorf("%s, record %q", got, w.record())
		}
	}, shared)
}

// TestOldEvents checks that an event that is older than the controller's own write is ignored. It is used if no other one follows:
// after a store was restored, resource versions are smaller.
func TestOldEvents(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		future := w.web().DeepCopy()
		future.SetResourceVersion("9999")
		w.routes.cluster.memory.wrote(webKey(), future, &route{}, time.Now())
		w.mustCorrect(0)
		time.Sleep(quietPeriod)
		w.mustCorrect(1)
	}, shared)
}

// TestPause checks that a client that continuously resets weights is reverted at increasing intervals, and immediately after a
// quiet period.
func TestPause(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		force := func() time.Duration {
			w.edit(proxies, "shop", "web", func(web *unstructured.Unstructured) {
				rules, _, _ := unstructured.NestedSlice(web.Object, "spec", "routes")
				rules[0].(map[string]any)["services"].([]any)[0].(map[string]any)["weight"] = int64(70)
				_ = unstructured.SetNestedSlice(web.Object, rules, "spec", "routes")
			})
			result, _, err := w.correct()
			if err != nil {
				w.Fatal(err)
			}
			return result.RequeueAfter
		}
		for range freeRewrites {
			if pause := force(); pause != 0 || w.weights() != "0 30" {
				w.Fatalf("a pause of %s, weights %s", pause, w.weights())
			}
		}
		last := time.Duration(0)
		for range 5 {
			pause := force()
			if pause <= last {
				w.Fatalf("a pause of %s after one of %s", pause, last)
			}
			last = pause
			time.Sleep(pause)
			w.mustCorrect(1)
		}
		time.Sleep(quietPeriod)
		if pause := force(); pause != 0 {
			w.Errorf("a pause of %s after a quiet time", pause)
		}
	}, shared)
}

func TestReason(t *testing.T) {
	rejected := apierrors.NewGenericServerResponse(http.StatusForbidden, "put", schema.GroupResource{}, "web", "frozen", 0, true)
	if got := reason(errors.Join(rejected)); got != rejected.Status().Message {
		t.Error(got)
	}
	if got := reason(rejection{errors.New("too large")}); got != "too large" {
		t.Error(got)
	}
}
