// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestReportedShare checks that the status and the metric report the share that routes really give a backend: a rule without an
// alternative keeps it until the endpoints are withheld.
func TestReportedShare(t *testing.T) {
	inWorld(t, func(w *world) {
		expect := func(what string, percent float64, message string) {
			w.Helper()
			w.mustCheck("us")
			if _, _, err := w.correct(); err != nil {
				w.Fatal(err)
			}
			w.correctImport()
			w.mustCheck("us")
			w.mustCheck("us")
			if got := testutil.ToFloat64(w.backends.meters.share.WithLabelValues("us")); got != percent {
				w.Errorf("%s: share = %v %%, want %v %%", what, got, percent)
			}
			if got := meta.FindStatusCondition(w.stored("us").Status.Conditions, gimbalv1.ConditionDrained).Message; !strings.Contains(got, message) {
				w.Errorf("%s: message = %q, want %q", what, got, message)
			}
		}
		expect("Enabled", 100, "")
		w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, "us", func(backend *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(backend.Object, "100s", "cluster", "drainDuration")
		})
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCheck("us")
		time.Sleep(50 * time.Second)
		// 35 of 70 %, and all requests of the route without an alternative.
		expect("half of it", 79, "2 routes send 79 % of the requests for the backend")
		time.Sleep(50 * time.Second)
		w.mustCheck("us")
		expect("in the end", 0, "")
	}, shared, imports("{name: us-web, port: 80, weight: 1}"))
}
