// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// newTestInventory has class "local" opted in and is synced.
func newTestInventory(t *testing.T, nodes ...string) (*Inventory, *testingclock.FakeClock) {
	t.Helper()
	clock := testingclock.NewFakeClock(noon)
	inventory := NewInventory(settings([]string{hostname}, "local", "fast"), clock)
	for _, node := range nodes {
		inventory.SetNode(testNode(node, node))
	}
	inventory.MarkSynced()
	return inventory, clock
}

// settings have these topology keys and classes, and local volumes.
func settings(keys []string, classes ...string) configv1alpha1.LocalVolumeConfiguration {
	config := configv1alpha1.LocalVolumeConfiguration{StorageClassNames: classes, NodeTopologyKeys: keys}
	configv1alpha1.SetDefaults_LocalVolumeConfiguration(&config)
	return config
}

func testNode(name, host string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hostname: host}}}
}

func on(name string, hosts ...string) *corev1.PersistentVolume {
	return staleVolume(func(v *corev1.PersistentVolume) {
		v.Name = name
		v.Spec.NodeAffinity.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{term(in(hostname, hosts...))}
	})
}

func staleNames(i *Inventory) []string {
	var names []string
	for _, stale := range i.Stale() {
		names = append(names, stale.Volume.Name)
	}
	return names
}

func TestInventoryStale(t *testing.T) {
	with := func(volume *corev1.PersistentVolume, change func(*corev1.PersistentVolumeSpec)) *corev1.PersistentVolume {
		change(&volume.Spec)
		return volume
	}
	for name, test := range map[string]struct {
		nodes  []*metav1.PartialObjectMetadata
		volume *corev1.PersistentVolume
		stale  bool
	}{
		"its node has been deleted":           {nil, on("v", "a"), true},
		"its node exists":                     {[]*metav1.PartialObjectMetadata{testNode("a", "a")}, on("v", "a"), false},
		"another node exists":                 {[]*metav1.PartialObjectMetadata{testNode("b", "b")}, on("v", "a"), true},
		"a node has that hostname":            {[]*metav1.PartialObjectMetadata{testNode("n1", "a")}, on("v", "a"), false},
		"a node has that name":                {[]*metav1.PartialObjectMetadata{testNode("a", "other")}, on("v", "a"), false},
		"one of its nodes exists":             {[]*metav1.PartialObjectMetadata{testNode("b", "b")}, on("v", "a", "b"), false},
		"both of its nodes have been deleted": {nil, on("v", "a", "b"), true},
		"one of several opted-in classes":     {nil, with(on("v", "a"), func(s *corev1.PersistentVolumeSpec) { s.StorageClassName = "fast" }), true},
		"another class":                       {nil, with(on("v", "a"), func(s *corev1.PersistentVolumeSpec) { s.StorageClassName = "other" }), false},
		"no class":                            {nil, with(on("v", "a"), func(s *corev1.PersistentVolumeSpec) { s.StorageClassName = "" }), false},
		"a CSI source": {nil, with(on("v", "a"), func(s *corev1.PersistentVolumeSpec) {
			s.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{}}
		}), false},
		"not node-bound": {nil, with(on("v", "a"), func(s *corev1.PersistentVolumeSpec) {
			s.NodeAffinity.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{term(in("topology.kubernetes.io/zone", "z"))}
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(noon)
			i := NewInventory(settings([]string{hostname}, "local", "fast"), clock)
			i.SetVolume(test.volume) // before the nodes are known: that must not count
			if len(i.Stale()) > 0 || len(i.Missing()) > 0 {
				t.Fatalf("before it is synced: %v, %v", i.Stale(), i.Missing())
			}
			for _, node := range test.nodes {
				i.SetNode(node)
			}
			i.MarkSynced()
			if got := len(i.Stale()) == 1; got != test.stale || i.IsStale("v") != test.stale {
				t.Errorf("stale is %v", got)
			}
		})
	}
}

func TestInventoryNoClasses(t *testing.T) {
	i := NewInventory(settings([]string{hostname}), testingclock.NewFakeClock(noon))
	i.MarkSynced()
	if i.SetVolume(on("v", "a")) || len(i.Stale()) > 0 {
		t.Error("nothing is opted in, yet the volume counts")
	}
}

// TestInventoryReturns checks that a node that returns, with any UID and for any time, resets its absence.
func TestInventoryReturns(t *testing.T) {
	i, clock := newTestInventory(t, "a", "b")
	i.SetVolume(on("v", "a"))
	step := func(what string, changed, want bool) {
		t.Helper()
		if changed != want {
			t.Errorf("%s: changed is %v", what, changed)
		}
	}
	step("a node without volumes", i.RemoveNode("b"), false)
	clock.Step(time.Minute)
	step("lost", i.RemoveNode("a"), true)
	step("lost again", i.RemoveNode("a"), false)
	if since := i.Missing()["a"]; !since.Equal(noon.Add(time.Minute)) {
		t.Errorf("missing since %s", since)
	}
	clock.Step(time.Minute)
	step("back", i.SetNode(testNode("a", "a")), true)
	step("heartbeat", i.SetNode(testNode("a", "a")), false)
	if len(i.Missing()) > 0 || len(i.Stale()) > 0 || i.AllMissing([]string{"a"}) {
		t.Error("a node that is back is missing")
	}
	clock.Step(time.Minute)
	step("lost a second time", i.RemoveNode("a"), true)
	if since := i.Stale()[0].Since; !since.Equal(noon.Add(3 * time.Minute)) {
		t.Errorf("missing since %s: the first time counts", since)
	}
}

func TestInventorySeveralNodes(t *testing.T) {
	i, clock := newTestInventory(t, "a", "b")
	i.SetVolume(on("v", "a", "b"))
	i.RemoveNode("a")
	clock.Step(time.Hour)
	i.RemoveNode("b")
	stale := i.Stale()
	if len(stale) != 1 || !stale[0].Since.Equal(noon.Add(time.Hour)) {
		t.Errorf("it is stale only since the last of its nodes is missing: %+v", stale)
	}
}

func TestInventoryVolumes(t *testing.T) {
	i, clock := newTestInventory(t, "a")
	if !i.SetVolume(on("v", "a")) || !i.SetVolume(on("w", "b")) {
		t.Error("the first volume of a node and a stale one are worth a reconciliation")
	}
	if diff := cmp.Diff([]string{"w"}, staleNames(i)); diff != "" {
		t.Error(diff)
	}
	clock.Step(time.Minute)
	i.SetVolume(on("w", "b")) // an update does not begin the time again
	if since := i.Missing()["b"]; !since.Equal(noon) {
		t.Errorf("missing since %s", since)
	}
	if !i.RemoveVolume("w") || i.RemoveVolume("w") || len(i.Missing()) > 0 {
		t.Error("a node without volumes is not counted as missing")
	}
	if i.RemoveVolume("v") || i.names["b"] != nil || len(i.volumes) > 0 {
		t.Errorf("something is left: %v", i.names)
	}
	zone := on("z", "a")
	zone.Spec.NodeAffinity.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{term(in("zone", "z"))}
	if !i.SetVolume(zone) || i.SetVolume(zone) || len(i.Untouched()) != 1 {
		t.Error("a volume that does not name its nodes is worth one message")
	}
	if i.RemoveVolume("z"); len(i.Untouched()) != 0 {
		t.Error("it has been deleted")
	}
}

func TestInventoryInterrupt(t *testing.T) {
	i, clock := newTestInventory(t)
	i.SetVolume(on("v", "a"))
	clock.Step(time.Minute)
	i.Interrupt([]string{"a", "b"})
	if diff := cmp.Diff(map[string]time.Time{"a": noon.Add(time.Minute)}, i.Missing()); diff != "" {
		t.Error(diff)
	}
}

// TestSeenIsReported checks that whatever is new in the record triggers a reconciliation, which saves it: a node that is lost together
// with the process would otherwise be one that was never seen.
func TestSeenIsReported(t *testing.T) {
	i, _ := newTestInventory(t, "a")
	for step, change := range []struct {
		change func() bool
		want   bool
	}{
		{func() bool { return i.SetNode(testNode("b", "b")) }, false}, // no volume uses it
		{func() bool { return i.SetVolume(on("v", "a")) }, true},
		{func() bool { return i.SetVolume(on("v", "a")) }, false},
		{func() bool { return i.SetVolume(on("w", "a")) }, false},
		{func() bool { return i.SetVolume(on("x", "a", "b")) }, true},
		{func() bool { return i.SetNode(testNode("c", "b")) }, true}, // another Node with the name
		{func() bool { return i.SetNode(testNode("c", "b")) }, false},
		{func() bool { return i.RemoveVolume("w") }, false},
	} {
		if got := change.change(); got != change.want {
			t.Errorf("step %d: worth a reconciliation = %v, want %v", step, got, change.want)
		}
	}
	starting := NewInventory(settings([]string{hostname}, "local"), testingclock.NewFakeClock(noon))
	if starting.SetNode(testNode("a", "a")) || starting.SetVolume(on("v", "a")) || starting.SetNode(testNode("b", "a")) {
		t.Error("nothing is to be reconciled before everything is known")
	}
}
