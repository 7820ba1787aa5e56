// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

func TestTwins(t *testing.T) {
	type change = func(*gimbalv1.DiscoveryBackend)
	routes := func(n int32) change {
		return func(b *gimbalv1.DiscoveryBackend) { b.Status.Routes = &gimbalv1.RouteStatus{Matching: n} }
	}
	condition := func(value metav1.ConditionStatus, reason string, generation int64) change {
		return func(b *gimbalv1.DiscoveryBackend) {
			b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
			setCondition(b, metav1.Condition{Type: gimbalv1.ConditionDrained, Status: value, Reason: reason, ObservedGeneration: generation})
		}
	}
	drained := condition(metav1.ConditionTrue, reasonDrained, 1)
	keeps := func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.DrainPolicy = gimbalv1.DrainKeepSole
		b.Status.Routes = &gimbalv1.RouteStatus{Matching: 2, WithoutAlternative: &gimbalv1.RouteNames{Count: 1}}
	}
	openstack := func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.Type = gimbalv1.BackendOpenStack
		b.Status.Identity = []gimbalv1.ClusterIdentity{{Object: "project", ID: "p/r"}}
	}
	elsewhere := func(b *gimbalv1.DiscoveryBackend) { b.Namespace = "team" }
	same, other := identified("1"), identified("2")
	for name, tc := range map[string]struct {
		us, eu []change
		here   []gimbalv1.ClusterIdentity
		// drained is the condition Drained of the backend us as Status/Reason, after its own routes send nothing; names are parts of its
		// message, unique those of the condition ClusterUnique, nil when there is none.
		drained       string
		names, unique []string
	}{
		"alone":                              {us: []change{same}, eu: []change{other}, drained: "True/Drained"},
		"the same receives":                  {us: []change{same}, eu: []change{same, routes(2)}, drained: "False/SameCluster", names: []string{"gimbal-discovery/eu"}, unique: []string{"DiscoveryBackend gimbal-discovery/eu leads"}},
		"the same in another namespace":      {us: []change{same}, eu: []change{same, elsewhere, routes(2)}, drained: "False/SameCluster", names: []string{"team/eu"}, unique: []string{"team/eu"}},
		"the same is not counted":            {us: []change{same}, eu: []change{same}, drained: "False/SameCluster", unique: []string{"eu"}},
		"the same has no routes":             {us: []change{same}, eu: []change{same, routes(0)}, drained: "True/Drained", unique: []string{"eu"}},
		"the same is drained":                {us: []change{same}, eu: []change{same, routes(2), drained}, drained: "True/Drained", unique: []string{"eu"}},
		"the same is in maintenance":         {us: []change{same}, eu: []change{same, routes(2), condition(metav1.ConditionFalse, reasonDraining, 1)}, drained: "False/SameCluster", unique: []string{"eu"}},
		"the same was drained before":        {us: []change{same}, eu: []change{same, routes(2), condition(metav1.ConditionTrue, reasonDrained, 0)}, drained: "False/SameCluster", unique: []string{"eu"}},
		"each waits for the other":           {us: []change{same}, eu: []change{same, routes(2), condition(metav1.ConditionFalse, gimbalv1.ReasonSameCluster, 1)}, drained: "True/Drained", unique: []string{"eu"}},
		"the same keeps sole routes":         {us: []change{same}, eu: []change{same, keeps, drained}, drained: "True/Drained", names: []string{"still serves", "gimbal-discovery/eu"}, unique: []string{"eu"}},
		"the other is unknown":               {us: []change{same}, eu: []change{routes(2)}, drained: "True/Drained", names: []string{"unknown", "gimbal-discovery/eu"}},
		"this one is unknown":                {eu: []change{other, routes(2)}, drained: "True/Drained", names: []string{"unknown", "gimbal-discovery/eu"}},
		"the unknown one has no routes":      {us: []change{same}, eu: []change{routes(0)}, drained: "True/Drained"},
		"the unknown one is drained":         {us: []change{same}, eu: []change{routes(2), drained}, drained: "True/Drained"},
		"an OpenStack project is no cluster": {us: []change{same}, eu: []change{openstack, routes(2)}, drained: "True/Drained"},
		"the same OpenStack project":         {us: []change{openstack}, eu: []change{openstack, routes(2)}, drained: "False/SameCluster", unique: []string{"eu"}},
		"this cluster":                       {us: []change{same}, eu: []change{other}, here: clusterid.OfUID("1"), drained: "True/Drained", unique: []string{"this API server"}},
		"this cluster, twice":                {us: []change{same}, eu: []change{same, routes(2)}, here: clusterid.OfUID("1"), drained: "False/SameCluster", unique: []string{"this API server", "gimbal-discovery/eu leads"}},
		"this cluster is unknown":            {us: []change{same}, eu: []change{other}, drained: "True/Drained"},
	} {
		t.Run(name, func(t *testing.T) {
			us := member("us", tc.us...)
			us.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
			all := map[string]*gimbalv1.DiscoveryBackend{"us": us, "eu": member("eu", tc.eu...)}
			found := twinsOf(us, fleet{all: all, clusters: clustersOf(all)}, tc.here)
			got := planFor(us, phaseDraining, facts{matching: 3, drained: 3, twins: found}, endpoints{}, noon, noon)
			if c := got.condition; string(c.Status)+"/"+c.Reason != tc.drained {
				t.Errorf("Drained = %s/%s (%s), want %s", c.Status, c.Reason, c.Message, tc.drained)
			}
			if len(tc.names) == 0 && strings.Contains(got.condition.Message, "unknown") {
				t.Errorf("message = %q, want nothing unknown", got.condition.Message)
			}
			for _, part := range tc.names {
				if !strings.Contains(got.condition.Message, part) {
					t.Errorf("message = %q, want %q in it", got.condition.Message, part)
				}
			}
			if (got.unique != nil) != (tc.unique != nil) {
				t.Fatalf("ClusterUnique = %+v, want names of %q", got.unique, tc.unique)
			}
			for _, part := range tc.unique {
				if got.unique.Status != metav1.ConditionFalse || got.unique.Reason != gimbalv1.ReasonSameCluster || !strings.Contains(got.unique.Message, part) {
					t.Errorf("ClusterUnique = %+v, want False with %q", got.unique, part)
				}
			}
			if c := planFor(us, phaseDraining, facts{matching: 3, left: 1, twins: found}, endpoints{}, noon, noon).condition; c.Reason != reasonDraining {
				t.Errorf("reason before its own routes are written = %s, want %s", c.Reason, reasonDraining)
			}
		})
	}
}

// twin gives a backend the identity of a cluster, and waits until the caches know.
func (w *world) twin(name, id string) {
	w.Helper()
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, name, func(backend *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(backend.Object, []any{map[string]any{"object": clusterid.NamespaceSystem, "id": id}}, "status", "identity")
		backend.SetGeneration(backend.GetGeneration() - 1) // a status has none
	})
}

// twins makes the backends us and eu one cluster again, after writes of their status, which the fake API server replaces as a whole.
func (w *world) twins() {
	w.Helper()
	w.twin("us", "1")
	w.twin("eu", "1")
}

// TestSameClusterIsNotDrained checks that a backend is not reported as drained while its cluster gets the requests by another one.
func TestSameClusterIsNotDrained(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCheck("eu")
		w.twins()
		w.mustCheck("us")
		if got := w.stored("us").Status.Routes.WithoutAlternative; got == nil || got.Count != 1 {
			t.Errorf("routes without an alternative = %+v, want 1", got)
		}
		w.twins()
		w.cluster("us", "drainPolicy", "KeepSole")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(0)
		if got := w.mustCheck("us"); got != "False/SameCluster" {
			t.Errorf("Drained = %s, want False/SameCluster", got)
		}
		w.twins()
		w.cluster("us", "drainPolicy", "Strict")
		w.mustCorrect(0)
		if got := w.weights(); got != "70 30" {
			t.Errorf("weights = %s, want 70 30", got)
		}
		w.mustCheck("us")
		if !w.stored("us").Status.EndpointsDrained {
			t.Error("the endpoints of a route without another cluster stay ready")
		}
		for _, name := range []string{"us", "us"} {
			w.twins()
			if got := w.mustCheck(name); got != "False/SameCluster" && got != "False/Draining" {
				t.Errorf("Drained = %s, want False", got)
			}
		}
		w.twins()
		w.cluster("eu", "clusterStatus", "Maintenance")
		w.mustCorrect(0)
		for range 6 {
			w.mustCheck("eu")
			w.twins()
			w.mustCheck("us")
			w.twins()
		}
		for _, name := range []string{"us", "eu"} {
			w.twins()
			if got := w.mustCheck(name); got != "True/Drained" {
				t.Errorf("Drained of %s = %s, want True/Drained: %+v", name, got, w.stored(name).Status.Conditions)
			}
		}
	}, shared)
}

// TestIdentityReported checks that a route is checked again when an identity is reported: its drained weights change.
func TestIdentityReported(t *testing.T) {
	us, eu := member("us"), member("us", identified("1"))
	if !drainChanged(us, eu) {
		t.Error("routes are not checked after an identity was reported")
	}
	if drainChanged(eu, eu.DeepCopy()) {
		t.Error("routes are checked although nothing changed")
	}
}

// TestUniqueIsRemoved checks that the condition ClusterUnique does not outlive its reason.
func TestUniqueIsRemoved(t *testing.T) {
	inWorld(t, func(w *world) {
		w.twins()
		w.mustCheck("us")
		if c := uniqueOf(w.stored("us")); c == nil || c.Status != metav1.ConditionFalse {
			t.Fatalf("ClusterUnique = %+v, want False", c)
		}
		w.twin("us", "2")
		w.mustCheck("us")
		if c := uniqueOf(w.stored("us")); c != nil {
			t.Errorf("ClusterUnique = %+v, want none", c)
		}
		w.take()
		w.mustCheck("us")
		if wrote := w.take(); len(wrote) > 0 {
			t.Errorf("wrote %q, want nothing", wrote)
		}
	}, shared)
}

// TestSameClusterAutomatic checks that the only cluster that serves is not drained, although two backends lead to it.
func TestSameClusterAutomatic(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCheck("eu")
		w.responds("eu", metav1.ConditionTrue, time.Hour)
		w.responds("us", metav1.ConditionFalse, time.Hour)
		w.twins()
		w.mustCheck("us")
		if us := w.stored("us"); status.IsAutomatic(us) || automaticOf(us).Reason != reasonHeld {
			t.Errorf("AutomaticMaintenance = %+v, want Held", automaticOf(us))
		}
	}, shared)
}

// TestHere checks that the identity of the management cluster is read once, and is unknown until then.
func TestHere(t *testing.T) {
	reads := 0
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID("1")}}
	live := &failingReader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(system).Build(), reads: &reads, err: errors.New("forbidden")}
	h := &self.Cluster{Reader: live}
	if got := identityOf(t.Context(), h); got != nil {
		t.Errorf("identity = %v, want none while it cannot be read", got)
	}
	live.err = nil
	for range 2 {
		if got := identityOf(t.Context(), h); clusterid.Compare(got, clusterid.OfUID("1")) != clusterid.Same {
			t.Errorf("identity = %v, want uid 1", got)
		}
	}
	if reads != 2 {
		t.Errorf("reads = %d, want 2", reads)
	}
}

// failingReader counts reads, and fails them on request.
type failingReader struct {
	client.Reader
	reads *int
	err   error
}

func (r *failingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	*r.reads++
	if r.err != nil {
		return r.err
	}
	return r.Reader.Get(ctx, key, object, options...)
}
