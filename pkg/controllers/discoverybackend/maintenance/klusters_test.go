// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// kluster adds a Kluster that leads to a cluster.
func (w *world) kluster(name, id string) {
	w.Helper()
	w.add(klustersV1, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kubernikusv1.SchemeGroupVersion.String(), "kind": "Kluster", "metadata": map[string]any{"namespace": "garden-shop", "name": name},
		"status": map[string]any{"identity": map[string]any{"clusterID": id}},
	}})
	synctest.Wait()
}

// unique returns the condition ClusterUnique of the backend us as Status/Reason, and its message.
func (w *world) unique() (condition, message string) {
	w.Helper()
	w.twin("us", "1")
	w.mustCheck("us")
	if c := uniqueOf(w.stored("us")); c != nil {
		return string(c.Status) + "/" + c.Reason, c.Message
	}
	return "", ""
}

// TestKlusterOfTheCluster checks that a backend names the Klusters of its cluster, unless it announces one of them, and that its condition
// stays as it is while they are unknown.
func TestKlusterOfTheCluster(t *testing.T) {
	inWorld(t, func(w *world) {
		check := func(step, want string, names ...string) {
			t.Helper()
			got, text := w.unique()
			if got != want {
				t.Errorf("%s: ClusterUnique = %q (%s), want %q", step, got, text, want)
			}
			for _, name := range names {
				if !strings.Contains(text, name) {
					t.Errorf("%s: message = %q, want %q in it", step, text, name)
				}
			}
		}
		released := func(k *unstructured.Unstructured) { k.SetDeletionTimestamp(&metav1.Time{Time: noon}) }
		w.kluster("other", "2")
		w.kluster("unknown", "")
		check("no Kluster of the cluster", "")
		w.kluster("us", "1")
		check("one", "False/SameClusterKluster", "Kluster garden-shop/us leads")
		w.kluster("a", "1")
		check("two", "False/SameClusterKluster", "Klusters garden-shop/a, garden-shop/us lead")
		w.take()
		w.unique()
		if wrote := w.take(); len(wrote) > 0 {
			t.Errorf("wrote %q without news, want nothing", wrote)
		}
		w.edit(klustersV1, "garden-shop", "a", released)
		check("one is released", "False/SameClusterKluster", "Kluster garden-shop/us leads")
		w.twin("eu", "1")
		check("and a backend", "False/SameCluster", "DiscoveryBackend gimbal-discovery/eu leads", "Kluster garden-shop/us leads")
		w.twin("eu", "2")
		w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, "us", func(b *unstructured.Unstructured) {
			b.SetLabels(map[string]string{clusterid.LabelNamespace: "garden-shop", clusterid.LabelName: "us", clusterid.LabelUID: "uid-us"})
		})
		check("it is announced", "")
	})
}

// TestKlustersUnknown checks that a backend keeps what it reports of Klusters while they are unknown, and is checked otherwise.
func TestKlustersUnknown(t *testing.T) {
	reported := func(reason string) func(*gimbalv1.DiscoveryBackend) {
		return func(b *gimbalv1.DiscoveryBackend) {
			setCondition(b, metav1.Condition{Type: gimbalv1.ConditionClusterUnique, Status: metav1.ConditionFalse, Reason: reason, Message: "before"})
		}
	}
	for name, tc := range map[string]struct {
		last  func(*gimbalv1.DiscoveryBackend)
		found twins
		want  bool
	}{
		"unknown":                {reported(gimbalv1.ReasonSameClusterKluster), twins{unknown: true}, true},
		"there is none":          {reported(gimbalv1.ReasonSameClusterKluster), twins{}, false},
		"it was another backend": {reported(gimbalv1.ReasonSameCluster), twins{unknown: true}, false},
		"nothing was reported":   {func(*gimbalv1.DiscoveryBackend) {}, twins{unknown: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.found.condition(member("us", tc.last)); (got != nil) != tc.want {
				t.Errorf("ClusterUnique = %+v, want one: %t", got, tc.want)
			}
		})
	}
}

// TestKlustersAreFollowed checks that a Kluster concerns the backends of its cluster when that changes, and not by anything else.
func TestKlustersAreFollowed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.twin("us", "1")
		w.twin("eu", "2")
		of := func(id string) *resourcewatch.Object {
			k := &kubernikusv1.Kluster{}
			k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id}
			return &resourcewatch.Object{Value: k}
		}
		for name, tc := range map[string]struct {
			event resourcewatch.Event
			want  []string
		}{
			"created":             {resourcewatch.Event{New: of("1")}, []string{"us"}},
			"created, unknown":    {resourcewatch.Event{New: of("")}, nil},
			"deleted":             {resourcewatch.Event{Old: of("2")}, []string{"eu"}},
			"of another cluster":  {resourcewatch.Event{Old: of("1"), New: of("2")}, []string{"eu", "us"}},
			"nothing of interest": {resourcewatch.Event{Old: of("1"), New: of("1")}, nil},
		} {
			got := w.watches.copiesOf(t.Context(), tc.event)
			if slices.Sort(got); !slices.Equal(got, tc.want) {
				t.Errorf("%s: backends = %q, want %q", name, got, tc.want)
			}
		}
	})
}
