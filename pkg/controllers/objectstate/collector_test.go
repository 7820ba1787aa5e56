// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package objectstate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// at returns a time after the first one of the tests.
func at(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(1000+seconds, 0)) }

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1, CreationTimestamp: at(0)}
}

func condition(kind, status, reason string, seconds int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, ObservedGeneration: 1, LastTransitionTime: at(seconds)}
}

func listed(objects ...any) func(context.Context) ([]any, error) {
	return func(context.Context) ([]any, error) { return objects, nil }
}

func project(name, rbac, reason string) *gardenerv1beta1.Project {
	p := &gardenerv1beta1.Project{ObjectMeta: meta(name)}
	p.Namespace = ""
	p.Status = gardenerv1beta1.ProjectStatus{ObservedGeneration: 1, Phase: "Ready", Conditions: []gardenerv1beta1.Condition{
		{Type: gardenerv1beta1.ProjectNamespaceReady, Status: "True", LastUpdateTime: at(5), LastTransitionTime: at(5)},
		{Type: gardenerv1beta1.ProjectRBACReady, Status: gardenerv1beta1.ConditionStatus(rbac), Reason: reason, LastUpdateTime: at(7), LastTransitionTime: at(6)},
		{Type: "Ready", Status: "True", LastUpdateTime: at(90)}, // repeats another one
	}}
	return p
}

func translation(t testing.TB, name, synced, reason string) *packed.Translation {
	t.Helper()
	tr := &midonetv1.Translation{ObjectMeta: meta(name)}
	tr.Status = midonetv1.TranslationStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition(midonetv1.ConditionSynced, synced, reason, 3)}}
	if reason == "Refused" {
		tr.Status.Conditions = append(tr.Status.Conditions, condition(midonetv1.ConditionStalled, "True", reason, 3))
	}
	kept, err := packed.Pack(tr)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// gathered returns the samples of a registry without their help.
func gathered(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			lines = append(lines, fmt.Sprintf("%s{%s} %g", strings.TrimPrefix(family.GetName(), "groundskeeper_object"), strings.Join(labels, ","), m.GetGauge().GetValue()))
		}
	}
	return strings.Join(lines, "\n")
}

func TestMetricsOfEachKind(t *testing.T) {
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: meta("eu")}
	backend.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	backend.Status.ObservedGeneration, backend.Status.LastSyncTime = 1, new(at(40))
	backend.Status.Conditions = []metav1.Condition{
		condition(gimbalv1.ConditionCredentialsValid, "True", "Accepted", 1), condition(gimbalv1.ConditionAvailable, "True", "DiscovererRunning", 2),
		condition(gimbalv1.ConditionDiscovered, "True", "Synced", 3), condition(gimbalv1.ConditionDrained, "False", "StillReceiving", 4),
	}
	kluster := &kubernikusv1.Kluster{ObjectMeta: meta("web")}
	kluster.DeletionTimestamp = new(at(10))
	kluster.Status.ObservedGeneration, kluster.Status.Phase = 1, "Terminating"
	kluster.Status.Deorbit = &kubernikusv1.DeorbitStatus{LastProgressAt: new(at(20)), Remaining: make([]kubernikusv1.DeorbitObject, 3)}
	for name, tc := range map[string]struct {
		object any
		want   string
	}{
		"Project": {project("a", "True", "RolesReconciled"), `_last_progress_timestamp_seconds{kind=K,name=a,namespace=} 1007
_phase{kind=K,name=a,namespace=,phase=Ready} 1
_ready{kind=K,name=a,namespace=} 1`},
		"Project that is retried": {project("a", "False", "RolesFailed"), `_last_progress_timestamp_seconds{kind=K,name=a,namespace=} 1007
_phase{kind=K,name=a,namespace=,phase=Ready} 1
_ready{kind=K,name=a,namespace=} 0`},
		"DiscoveryBackend that still receives": {backend, `_drained{kind=K,name=eu,namespace=shop} 0
_last_progress_timestamp_seconds{kind=K,name=eu,namespace=shop} 1040
_phase{kind=K,name=eu,namespace=shop,phase=Maintenance} 1
_ready{kind=K,name=eu,namespace=shop} 0
_stalled{kind=K,name=eu,namespace=shop,reason=StillReceiving} 1`},
		"Kluster that is torn down": {kluster, `_last_progress_timestamp_seconds{kind=K,name=web,namespace=shop} 1020
_leftovers{kind=K,name=web,namespace=shop} 3
_phase{kind=K,name=web,namespace=shop,phase=Terminating} 1
_ready{kind=K,name=web,namespace=shop} 0`},
		"Translation that the backend rejects": {translation(t, "pod.4.a", "False", "Refused"), `_last_progress_timestamp_seconds{kind=K,name=pod.4.a,namespace=shop} 1003
_ready{kind=K,name=pod.4.a,namespace=shop} 0
_stalled{kind=K,name=pod.4.a,namespace=shop,reason=Refused} 1`},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewPedanticRegistry()
			if err := Register(registry, 10, Kind{"K", listed(tc.object)}); err != nil {
				t.Fatal(err)
			}
			if got := gathered(t, registry); got != tc.want+"\ns_omitted{kind=K} 0" {
				t.Errorf("metrics:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// TestLimitKeepsWhatIsNotReady checks that objects that a user has to repair have metrics even if there are more objects than the
// limit.
func TestLimitKeepsWhatIsNotReady(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	objects := listed(
		translation(t, "a", "True", "Synced"), translation(t, "b", "False", "Retrying"), translation(t, "c", "True", "Synced"),
		translation(t, "d", "False", "Refused"), "a tombstone",
	)
	if err := Register(registry, 3, Kind{"Translation", objects}); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP groundskeeper_object_ready Whether an object is Ready: 1, or 0 if it is not, or not known to be.
# TYPE groundskeeper_object_ready gauge
groundskeeper_object_ready{kind="Translation",name="a",namespace="shop"} 1
groundskeeper_object_ready{kind="Translation",name="b",namespace="shop"} 0
groundskeeper_object_ready{kind="Translation",name="d",namespace="shop"} 0
# HELP groundskeeper_objects_omitted Objects that have no metrics, because the limit is reached. Objects that are not Ready come first.
# TYPE groundskeeper_objects_omitted gauge
groundskeeper_objects_omitted{kind="Translation"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "groundskeeper_object_ready", "groundskeeper_objects_omitted"); err != nil {
		t.Error(err)
	}
}

// A kind that cannot be read has no metrics, which is something else than no objects; the others have theirs. The metrics of a
// manager that was stopped are replaced.
func TestUnreadableKindHasNoMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := Register(registry, 3, Kind{"Old", listed(project("a", "True", ""))}); err != nil {
		t.Fatal(err)
	}
	failing := func(context.Context) ([]any, error) { return nil, errors.New("no controller watches it") }
	if err := Register(registry, 3, Kind{"Kluster", failing}, Kind{"Project", listed()}); err != nil {
		t.Fatal(err)
	}
	if got, want := gathered(t, registry), "s_omitted{kind=Project} 0"; got != want {
		t.Errorf("metrics %s, want %s", got, want)
	}
}

// BenchmarkCollect is a scrape of 26,000 Translations, as many as a network of 2000 pods and 2000 services has, of which the limit
// leaves 1000.
func BenchmarkCollect(b *testing.B) {
	objects := make([]any, 26_000)
	for i := range objects {
		objects[i] = translation(b, fmt.Sprintf("pod.4.web-%05d", i), "True", "Synced")
	}
	registry := prometheus.NewRegistry()
	if err := Register(registry, 1000, Kind{"Translation", listed(objects...)}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
