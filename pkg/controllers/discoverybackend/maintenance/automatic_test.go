// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// member returns a backend of the fleet that serves, and may be in automatic maintenance.
func member(name string, change ...func(*gimbalv1.DiscoveryBackend)) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: name, UID: types.UID("uid-" + name), Generation: 1}}
	b.Cluster.Type, b.Cluster.ClusterStatus, b.Cluster.Maintenance.Automatic = gimbalv1.BackendKubernetes, gimbalv1.ClusterEnabled, true
	b.Status.Services = new(int32(3))
	reachable(metav1.ConditionTrue, time.Hour)(b)
	for _, apply := range change {
		apply(b)
	}
	return b
}

// reachable returns what a discoverer reports for a time until noon.
func reachable(value metav1.ConditionStatus, ago time.Duration) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) { report(b, value, noon.Add(-ago), noon) }
}

func report(b *gimbalv1.DiscoveryBackend, value metav1.ConditionStatus, since, seen time.Time) {
	setCondition(b, metav1.Condition{Type: gimbalv1.ConditionReachable, Status: value, Reason: "Reason", LastTransitionTime: metav1.NewTime(since)})
	b.Status.Errors = nil
	if value == metav1.ConditionFalse {
		b.Status.Errors = []gimbalv1.DiscoveryError{{Type: gimbalv1.ErrorConnection, Message: "m", StatusTime: new(metav1.NewTime(seen))}}
	}
}

// identified returns what a discoverer reports about the identity of a cluster.
func identified(id string) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) { b.Status.Identity = clusterid.OfUID(id) }
}

// setCondition replaces a condition, and its time.
func setCondition(b *gimbalv1.DiscoveryBackend, c metav1.Condition) {
	meta.RemoveStatusCondition(&b.Status.Conditions, c.Type)
	b.Status.Conditions = append(b.Status.Conditions, c)
}

func active(b *gimbalv1.DiscoveryBackend) {
	setCondition(b, metav1.Condition{Type: gimbalv1.ConditionAutomaticMaintenance, Status: metav1.ConditionTrue, Reason: reasonUnreachable})
}

func TestDecideAutomatic(t *testing.T) {
	type change = func(*gimbalv1.DiscoveryBackend)
	silent := func(ago time.Duration) change { return reachable(metav1.ConditionFalse, ago) }
	responds := func(ago time.Duration) change { return reachable(metav1.ConditionTrue, ago) }
	stale := func(b *gimbalv1.DiscoveryBackend) {
		report(b, metav1.ConditionFalse, noon.Add(-time.Hour), noon.Add(-4*time.Minute))
	}
	openstack := func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.Type, b.Cluster.RefreshInterval = gimbalv1.BackendOpenStack, new(int32(60))
	}
	stopped := func(b *gimbalv1.DiscoveryBackend) {
		b.Status.DiscovererRef = &gimbalv1.DiscovererReference{}
		setCondition(b, metav1.Condition{Type: gimbalv1.ConditionAvailable, Status: metav1.ConditionFalse})
	}
	never := func(b *gimbalv1.DiscoveryBackend) {
		meta.RemoveStatusCondition(&b.Status.Conditions, gimbalv1.ConditionReachable)
	}
	maintained := func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }
	off := func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Maintenance.Automatic = false }
	deleted := func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = new(metav1.NewTime(noon)) }
	empty := func(b *gimbalv1.DiscoveryBackend) { b.Status.Services = new(int32(0)) }
	uncounted := func(b *gimbalv1.DiscoveryBackend) { b.Status.Services = nil }
	withheld := func(b *gimbalv1.DiscoveryBackend) { b.Status.EndpointsDrained = true }
	returning := func(b *gimbalv1.DiscoveryBackend) { b.Status.Ramp = &gimbalv1.RampStatus{To: 100} }
	elsewhere := func(b *gimbalv1.DiscoveryBackend) { b.Namespace = "team" }
	periods := func(b *gimbalv1.DiscoveryBackend) {
		b.Cluster.Maintenance.UnreachablePeriod, b.Cluster.Maintenance.StablePeriod = &metav1.Duration{Duration: time.Minute}, &metav1.Duration{Duration: 2 * time.Minute}
	}
	same := identified("1")
	all := func(changes ...change) []change { return changes }
	for name, tc := range map[string]struct {
		us, eu []change
		others []*gimbalv1.DiscoveryBackend
		// want is the condition of the backend us as Status/Reason, "" for none.
		want  string
		after time.Duration
	}{
		"it responds":                         {nil, nil, nil, "False/Reachable", 0},
		"it does not":                         {all(silent(5 * time.Minute)), nil, nil, "True/Unreachable", 0},
		"not yet for long enough":             {all(silent(4 * time.Minute)), nil, nil, "False/Unreachable", time.Minute},
		"with periods":                        {all(silent(90*time.Second), periods), nil, nil, "True/Unreachable", 0},
		"less than three probes":              {all(silent(time.Minute), periods), nil, nil, "False/Unreachable", 30 * time.Second},
		"less than three listings of a cloud": {all(silent(time.Minute), periods, openstack), nil, nil, "False/Unreachable", 2 * time.Minute},
		"disabled":                            {all(silent(time.Hour), off), nil, nil, "", 0},
		"disabled meanwhile":                  {all(silent(time.Hour), active, off), nil, nil, "", 0},
		"in maintenance":                      {all(silent(time.Hour), maintained), nil, nil, "", 0},
		"in maintenance meanwhile":            {all(silent(time.Hour), active, maintained), nil, nil, "", 0},
		"being deleted":                       {all(silent(time.Hour), deleted), nil, nil, "", 0},
		"being deleted meanwhile":             {all(silent(time.Hour), active, deleted), nil, nil, "True/Unreachable", 0},
		"no discoverer ever reported":         {all(never), nil, nil, "Unknown/ReachabilityUnknown", 0},
		"the discoverer reports no more":      {all(stale), nil, nil, "Unknown/ReachabilityUnknown", 0},
		"one with few requests":               {all(stale, openstack), nil, nil, "True/Unreachable", 0},
		"the discoverer does not run":         {all(stopped), nil, nil, "Unknown/ReachabilityUnknown", 0},
		"no other one serves: in maintenance": {all(silent(time.Hour)), all(maintained), nil, "False/Held", 0},
		"no other one serves: not reachable":  {all(silent(time.Hour)), all(silent(time.Second)), nil, "False/Held", 0},
		"no other one serves: unknown":        {all(silent(time.Hour)), all(never), nil, "False/Held", 0},
		"no other one serves: no discoverer":  {all(silent(time.Hour)), all(stopped), nil, "False/Held", 0},
		"no other one serves: being deleted":  {all(silent(time.Hour)), all(deleted), nil, "False/Held", 0},
		"no other one serves: no services":    {all(silent(time.Hour)), all(empty), nil, "False/Held", 0},
		"no other one serves: not counted":    {all(silent(time.Hour)), all(uncounted), nil, "False/Held", 0},
		"no other one serves: withheld":       {all(silent(time.Hour)), all(withheld), nil, "False/Held", 0},
		"no other one serves: returning":      {all(silent(time.Hour)), all(returning), nil, "False/Held", 0},
		"no other one serves: less reach":     {all(silent(time.Hour)), all(elsewhere), nil, "False/Held", 0},
		"another serves in its namespace":     {all(silent(time.Hour), elsewhere), all(elsewhere), nil, "True/Unreachable", 0},
		"the other one is not automatic":      {all(silent(time.Hour)), all(off), nil, "True/Unreachable", 0},
		"the limit is reached":                {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(time.Hour), active)}, "False/Held", 0},
		"another one is longer unreachable":   {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(2*time.Hour))}, "False/Held", 0},
		"another one is so for less time":     {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(time.Minute*30))}, "True/Unreachable", 0},
		"for as long, before it by name":      {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(time.Hour))}, "False/Held", 0},
		"for as long, after it by name":       {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("va", silent(time.Hour))}, "True/Unreachable", 0},
		"one that was before is in no danger": {all(silent(time.Hour)), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(2*time.Hour), off)}, "True/Unreachable", 0},
		"no other one serves: same cluster":   {all(silent(time.Hour), same), all(same), nil, "False/Held", 0},
		"of unknown cluster":                  {all(silent(time.Hour), same), nil, nil, "True/Unreachable", 0},
		"two of one cluster, another serves":  {all(silent(time.Hour), same), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(time.Hour), same)}, "True/Unreachable", 0},
		"one of the cluster is in it":         {all(silent(time.Hour), same), nil, []*gimbalv1.DiscoveryBackend{member("ap", silent(time.Hour), same, active)}, "True/Unreachable", 0},
		"it lasts":                            {all(silent(time.Hour), active), nil, nil, "True/Unreachable", 0},
		"it lasts, and no other one serves":   {all(silent(time.Hour), active), all(maintained), nil, "True/Unreachable", 0},
		"it responds again":                   {all(responds(3*time.Minute), active), nil, nil, "True/Recovering", 7 * time.Minute},
		"it responds, the other does not":     {all(responds(time.Second), active), all(silent(time.Second)), nil, "False/Reachable", 0},
		"it responds, the other unknown":      {all(responds(time.Second), active), all(never), nil, "False/Reachable", 0},
		"it responds, the other maintained":   {all(responds(time.Second), active), all(maintained), nil, "False/Reachable", 0},
		"it responds, no other discoverer":    {all(responds(time.Second), active), all(stopped), nil, "False/Reachable", 0},
		"it responds, the other is deleted":   {all(responds(time.Second), active), all(deleted), nil, "False/Reachable", 0},
		"it responds, the other is empty":     {all(responds(time.Second), active), all(empty), nil, "False/Reachable", 0},
		"it responds, the other is the same":  {all(responds(time.Second), active, same), all(same), nil, "False/Reachable", 0},
		"it responds, a third one serves":     {all(responds(3*time.Minute), active), all(silent(time.Hour)), []*gimbalv1.DiscoveryBackend{member("ap")}, "True/Recovering", 7 * time.Minute},
		"it responds for long enough":         {all(responds(10*time.Minute), active), nil, nil, "False/Reachable", 0},
		"it responds again, with periods":     {all(responds(2*time.Minute), active, periods), nil, nil, "False/Reachable", 0},
		"it is not known whether it responds": {all(stale, active), nil, nil, "True/ReachabilityUnknown", 0},
		"its discoverer stopped when it did":  {all(responds(time.Hour), stopped, active), nil, nil, "True/ReachabilityUnknown", 0},
		"its discoverer is not observed":      {all(responds(time.Hour), active), nil, nil, "False/Reachable", 0},
	} {
		us := member("us", tc.us...)
		f := fleet{all: map[string]*gimbalv1.DiscoveryBackend{"us": us, "eu": member("eu", tc.eu...)}, limit: 1, admins: []string{adminNamespace}}
		for _, other := range tc.others {
			f.all[other.Name] = other
		}
		f.clusters = clustersOf(f.all)
		c, after := decideAutomatic(us, f, noon)
		got := ""
		if c != nil {
			got = string(c.Status) + "/" + c.Reason
		}
		if got != tc.want || after != tc.after {
			t.Errorf("%s: %q after %s, want %q after %s", name, got, after, tc.want, tc.after)
		}
	}
}

// TestAutomaticIsBounded checks that automatic maintenance never exceeds its limit, never includes the last backend, never
// contradicts the owner, and is never caused by incomplete data, for any sequence of events and any cache delay.
func TestAutomaticIsBounded(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, seed))
		f := &simulated{T: t, Rand: random, seed: seed, now: noon, stored: map[string]*gimbalv1.DiscoveryBackend{}, cached: map[string]*gimbalv1.DiscoveryBackend{}}
		f.memory, f.limit = newMemory(), 1+random.IntN(2)
		for i := range 2 + random.IntN(4) {
			name := fmt.Sprintf("b%d", i)
			f.stored[name] = member(name)
			f.cached[name] = f.stored[name].DeepCopy()
			f.names = append(f.names, name)
		}
		for range 300 {
			f.step()
		}
		if t.Failed() {
			return
		}
	}
}

// simulated is a fleet in which things happen.
type simulated struct {
	*testing.T
	*rand.Rand
	seed           uint64
	now            time.Time
	names          []string
	stored, cached map[string]*gimbalv1.DiscoveryBackend
	memory         *memory
	limit          int
}

// step is one event, or one decision.
func (f *simulated) step() {
	f.Helper()
	f.now = f.now.Add(time.Duration(f.IntN(120)) * time.Second)
	b := f.stored[f.names[f.IntN(len(f.names))]]
	switch f.IntN(8) {
	case 0: // it does not respond from now on
		report(b, metav1.ConditionFalse, f.now, f.now)
	case 1: // it does again
		report(b, metav1.ConditionTrue, f.now, f.now)
	case 2: // the owner decides
		b.Cluster.ClusterStatus = []gimbalv1.ClusterStatus{gimbalv1.ClusterEnabled, gimbalv1.ClusterEnabled, gimbalv1.ClusterMaintenance}[f.IntN(3)]
	case 3: // caches catch up
		f.cached[b.Name] = b.DeepCopy()
	case 4, 5: // discoverers repeat what they reported
		for _, name := range f.names {
			for i := range f.stored[name].Status.Errors {
				f.stored[name].Status.Errors[i].StatusTime = new(metav1.NewTime(f.now))
			}
		}
	default:
		f.decide(b)
	}
}

func (f *simulated) decide(b *gimbalv1.DiscoveryBackend) {
	f.Helper()
	f.cached[b.Name] = b.DeepCopy() // decisions wait until the cache has the last write of the backend
	before := f.cached[b.Name]
	known := fleet{all: f.cached, clusters: clustersOf(f.cached), admins: []string{adminNamespace}, limit: f.limit}
	c, _ := f.memory.decideAutomatic(before, known, f.now)
	was := status.IsAutomatic(before)
	meta.RemoveStatusCondition(&b.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance)
	if c != nil {
		setCondition(b, *c)
	}
	is, reached := status.IsAutomatic(b), reachabilityOf(before, f.now)
	if is && b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
		f.Errorf("seed %d: against the owner", f.seed)
	}
	if !was && is && (reached.status != metav1.ConditionFalse || f.now.Sub(reached.since) < gimbalv1.DefaultUnreachablePeriod) {
		f.Errorf("seed %d: begins although %+v", f.seed, reached)
	}
	known.begun = f.memory.begun(before, f.cached)
	alone := !known.servesBeside(before, f.now)
	if was && !is && b.Cluster.ClusterStatus == gimbalv1.ClusterEnabled && (reached.status != metav1.ConditionTrue || !alone && f.now.Sub(reached.since) < gimbalv1.DefaultStablePeriod) {
		f.Errorf("seed %d: ends although %+v", f.seed, reached)
	}
	served := false
	for _, other := range f.cached {
		served = served || other.Name != b.Name && !status.IsAutomatic(other) && serves(other, f.now)
	}
	if is && reached.status == metav1.ConditionTrue && !served {
		f.Errorf("seed %d: it responds and is drained, and no other one serves", f.seed)
	}
	count := sets.New[string]()
	served = false
	for _, other := range f.stored {
		if status.IsAutomatic(other) {
			count.Insert(other.Name)
		}
		served = served || other.Name != b.Name && !status.IsAutomatic(other) && serves(f.cached[other.Name], f.now)
	}
	if len(count) > f.limit {
		f.Errorf("seed %d: %v at the same time", f.seed, count)
	}
	if !was && is && !served {
		f.Errorf("seed %d: the last one", f.seed)
	}
}

// responds is what the discoverer of a backend reports for a time until now.
func (w *world) responds(name string, value metav1.ConditionStatus, ago time.Duration) {
	w.Helper()
	w.edit(gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), adminNamespace, name, func(object *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(object.Object, true, "cluster", "maintenance", "automatic")
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		conditions = slices.DeleteFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == gimbalv1.ConditionReachable })
		conditions = append(conditions, map[string]any{
			"type": gimbalv1.ConditionReachable, "status": string(value), "lastTransitionTime": time.Now().Add(-ago).UTC().Format(time.RFC3339),
		})
		_ = unstructured.SetNestedSlice(object.Object, conditions, "status", "conditions")
		_ = unstructured.SetNestedField(object.Object, int64(3), "status", "services")
		unstructured.RemoveNestedField(object.Object, "status", "errors")
		if value == metav1.ConditionFalse {
			_ = unstructured.SetNestedSlice(object.Object, []any{map[string]any{
				"type": gimbalv1.ErrorConnection, "message": "m", "statusTime": time.Now().UTC().Format(time.RFC3339),
			}}, "status", "errors")
		}
	})
}

// TestAutomaticMaintenance checks that an unreachable backend is drained where an alternative exists, and restored when it is
// reachable again.
func TestAutomaticMaintenance(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCheck("eu")
		w.responds("eu", metav1.ConditionTrue, time.Hour)
		w.responds("us", metav1.ConditionFalse, time.Minute)
		w.mustCheck("us")
		w.mustCorrect(0)
		w.responds("us", metav1.ConditionFalse, 5*time.Minute)
		if w.mustCheck("us"); !status.IsAutomatic(w.stored("us")) {
			w.Fatalf("%+v", w.stored("us").Status)
		}
		w.mustCorrect(1)
		if got := w.weights(); got != "0 30" {
			w.Errorf("weights %s", got)
		}
		if got := w.mustCheck("us"); got != "True/Drained" {
			w.Error(got)
		}
		w.take()
		w.responds("eu", metav1.ConditionFalse, time.Hour)
		if w.mustCheck("eu"); status.IsAutomatic(w.stored("eu")) || automaticOf(w.stored("eu")).Reason != reasonHeld {
			w.Errorf("%+v", w.stored("eu").Status)
		}
		w.responds("us", metav1.ConditionTrue, 10*time.Minute)
		w.mustCheck("us")
		w.mustCheck("us") // which finds that no endpoint is withheld
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" || w.record() != "" {
			w.Errorf("afterwards: %s, record %q", got, w.record())
		}
	}, shared)
}

// TestAutomaticMaintenanceEndsImmediately checks that a backend that responds gets its traffic back, all of it and immediately, when the other
// one stops serving.
func TestAutomaticMaintenanceEndsImmediately(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.mustCheck("eu")
		w.responds("eu", metav1.ConditionTrue, time.Hour)
		w.responds("us", metav1.ConditionFalse, 5*time.Minute)
		w.mustCheck("us")
		w.mustCorrect(1)
		w.responds("us", metav1.ConditionTrue, time.Second)
		if w.mustCheck("us"); automaticOf(w.stored("us")).Reason != reasonRecovering {
			t.Fatalf("AutomaticMaintenance = %+v, want Recovering", automaticOf(w.stored("us")))
		}
		w.cluster("us", "drainDuration", "10m") // it would come back in steps
		w.responds("us", metav1.ConditionTrue, time.Second)
		w.responds("eu", metav1.ConditionFalse, time.Second)
		w.mustCheck("us")
		if status.IsAutomatic(w.stored("us")) {
			t.Fatalf("AutomaticMaintenance = %+v, want False", automaticOf(w.stored("us")))
		}
		w.mustCheck("us")
		w.mustCorrect(1)
		if got := w.weights(); got != "70 30" {
			t.Errorf("weights = %s, want 70 30", got)
		}
	}, shared)
}

// TestAutomaticMaintenanceKeepsSole checks that automatic maintenance does not drain routes without an alternative.
func TestAutomaticMaintenanceKeepsSole(t *testing.T) {
	inWorld(t, func(w *world) {
		w.mustCheck("us")
		w.responds("eu", metav1.ConditionTrue, time.Hour)
		w.responds("us", metav1.ConditionFalse, time.Hour)
		w.mustCheck("us")
		w.mustCorrect(0)
		if got := w.mustCheck("us"); got != "True/Drained" || w.stored("us").Status.EndpointsDrained || len(w.ready.calls) > 1 {
			w.Errorf("%s, %q", got, w.ready.calls)
		}
	}, sole)
}
