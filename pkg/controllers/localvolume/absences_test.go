// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	testingclock "k8s.io/utils/clock/testing"
)

const nodeID = "openebs.io/nodeid"

// labelled returns a Node with labels, given as key and value in turns.
func labelled(name string, labels ...string) *metav1.PartialObjectMetadata {
	node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		node.Labels[labels[i]] = labels[i+1]
	}
	return node
}

// registered and made set when a Node was registered and a volume was made, relative to noon.
func registered(node *metav1.PartialObjectMetadata, at time.Duration) *metav1.PartialObjectMetadata {
	node.CreationTimestamp = metav1.NewTime(noon.Add(at))
	return node
}

func made(volume *corev1.PersistentVolume, at time.Duration) *corev1.PersistentVolume {
	volume.CreationTimestamp = metav1.NewTime(noon.Add(at))
	return volume
}

// TestPresence checks that, because labels are mutable, a name is missing only if no existing Node could have had it.
func TestPresence(t *testing.T) {
	byLabel := func(key, value string) []pin { return []pin{{key, value}} }
	for name, test := range map[string]struct {
		pins  []pin
		then  func(*Inventory)
		want  presence
		cause string
	}{
		"a node of that name":     {byLabel(hostname, "a"), func(i *Inventory) { i.SetNode(labelled("a")) }, present, ""},
		"a node with the label":   {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("n", hostname, "h")) }, present, ""},
		"its node was deleted":    {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("n", hostname, "h")); i.RemoveNode("n") }, absent, ""},
		"its node was relabelled": {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("n", hostname, "h")); i.SetNode(labelled("n", hostname, "g")) }, uncertain, "but node n, which had it, still exists"},
		"relabelled, and then deleted": {byLabel(hostname, "h"), func(i *Inventory) {
			i.SetNode(labelled("n", hostname, "h"))
			i.SetNode(labelled("n", hostname, "g"))
			i.RemoveNode("n")
		}, absent, ""},
		"registered again without label": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", hostname, "n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("n", hostname, "n"))
		}, uncertain, "node n"},
		"one of two with the label exists": {byLabel(hostname, "h"), func(i *Inventory) {
			i.SetNode(labelled("m", hostname, "h"))
			i.SetNode(labelled("n", hostname, "h"))
			i.RemoveNode("n")
		}, present, ""},
		"the other one was relabelled": {byLabel(hostname, "h"), func(i *Inventory) {
			i.SetNode(labelled("m", hostname, "h"))
			i.SetNode(labelled("n", hostname, "h"))
			i.RemoveNode("n")
			i.SetNode(labelled("m", hostname, "g"))
		}, uncertain, "node m"},
		"registered again with another label": {byLabel(hostname, "h"), func(i *Inventory) {
			i.SetNode(labelled("n", hostname, "h", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("n", hostname, "g", nodeID, "u"))
		}, uncertain, "node n"},
		"the label was handed on, the first comes back without": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("m", hostname, "m", nodeID, "u"))
			i.RemoveNode("m")
			i.SetNode(labelled("n", hostname, "n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("m", hostname, "m"))
		}, uncertain, "node m"},
		"never seen, all have the label":                  {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("n", hostname, "n")) }, absent, ""},
		"never seen, one lacks the label":                 {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("n")) }, uncertain, "node n without the label kubernetes.io/hostname could be the one: it is as old as the volume"},
		"the last one without the label got it":           {byLabel(nodeID, "u"), func(i *Inventory) { i.SetNode(labelled("m")); i.SetNode(labelled("m", nodeID, "v")) }, absent, ""},
		"the last one without the label has been deleted": {byLabel(nodeID, "u"), func(i *Inventory) { i.SetNode(labelled("m")); i.RemoveNode("m") }, absent, ""},
		"the name of a node, and another lacks the label": {byLabel(nodeID, "n"), func(i *Inventory) { i.SetNode(labelled("n", nodeID, "n")); i.SetNode(labelled("m")); i.RemoveNode("n") }, absent, ""},
		"named by metadata.name, labels do not matter":    {byLabel("", "a"), func(i *Inventory) { i.SetNode(labelled("m")) }, absent, ""},
		"a label that no volume uses does not matter":     {byLabel(hostname, "h"), func(i *Inventory) { i.SetNode(labelled("m", hostname, "m")) }, absent, ""},
		"relabelled before the volume was made": {nil, func(i *Inventory) {
			i.SetNode(labelled("n", hostname, "h"))
			i.SetNode(labelled("n", hostname, "g"))
			i.SetVolume(on("v", "h"))
		}, uncertain, "node n"},
		"the volume is recreated while its node is unknown": {byLabel(hostname, "h"), func(i *Inventory) {
			i.SetNode(labelled("n", hostname, "h"))
			i.RemoveNode("n")
			i.RemoveVolume("v")
			i.SetVolume(on("v", "h"))
		}, absent, ""},
		"one that never had the label was there with the label's node": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.SetNode(labelled("m"))
			i.RemoveNode("n")
		}, absent, ""},
		"one had another value when the label's node was there, and lost it": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.SetNode(labelled("m", nodeID, "w"))
			i.RemoveNode("n")
			i.SetNode(labelled("m"))
		}, absent, ""},
		"one without the label appears after the loss": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("m"))
		}, uncertain, "node m without the label openebs.io/nodeid could be the one: it is not known to have existed"},
		"one appears after the loss, and loses its label": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("m", nodeID, "w"))
			i.SetNode(labelled("m"))
		}, uncertain, "node m"},
		"one appears after the loss, and is deleted": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("m"))
			i.RemoveNode("m")
		}, absent, ""},
		"one appears after the loss, and gets another value": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.RemoveNode("n")
			i.SetNode(labelled("m"))
			i.SetNode(labelled("m", nodeID, "w"))
		}, absent, ""},
		"one that was there registers again after the loss": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.SetNode(labelled("m"))
			i.RemoveNode("n")
			again := labelled("m")
			again.UID = "another"
			i.SetNode(again)
		}, uncertain, "node m"},
		"one appears in the gap in which the deletion was missed": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(labelled("n", nodeID, "u"))
			i.SetNode(labelled("m")) // a list after a gap reports what there is first
			i.RemoveMissedNode("n")
		}, uncertain, "node m"},
		"one is older than the node of a missed deletion": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(registered(labelled("n", nodeID, "u"), 0))
			i.SetNode(registered(labelled("m"), -2*time.Minute))
			i.RemoveMissedNode("n")
		}, absent, ""},
		"one is hardly older than the node of a missed deletion": {byLabel(nodeID, "u"), func(i *Inventory) {
			i.SetNode(registered(labelled("n", nodeID, "u"), 0))
			i.SetNode(registered(labelled("m"), -time.Minute))
			i.RemoveMissedNode("n")
		}, uncertain, "node m"},
		"the first one in doubt is named": {byLabel(nodeID, "u"), func(i *Inventory) {
			for _, node := range []string{"c", "a", "b"} {
				i.SetNode(labelled(node))
			}
		}, uncertain, "node a without"},
		"never seen, one without the label is younger than the volume": {nil, func(i *Inventory) {
			i.SetNode(registered(labelled("m"), 2*time.Minute))
			i.SetVolume(made(on("v", "h"), 0))
		}, absent, ""},
		"never seen, one without the label is hardly younger": {nil, func(i *Inventory) {
			i.SetNode(registered(labelled("m"), time.Minute))
			i.SetVolume(made(on("v", "h"), 0))
		}, uncertain, "node m without the label kubernetes.io/hostname could be the one: it is as old as the volume"},
		"never seen, one without the label is older than the younger one of two volumes": {nil, func(i *Inventory) {
			i.SetNode(registered(labelled("m"), 10*time.Minute))
			i.SetVolume(made(on("v", "h"), 0))
			i.SetVolume(made(on("w", "h"), 20*time.Minute))
		}, absent, ""},
		"never seen, one without the label appears later": {nil, func(i *Inventory) {
			i.SetVolume(made(on("v", "h"), 0))
			i.SetNode(registered(labelled("m"), 2*time.Minute))
		}, uncertain, "node m"},
		"never seen, the driver's value is the name of the node": {byLabel("topology.topolvm.io/node", "t"), func(i *Inventory) { i.SetNode(labelled("m")) }, absent, ""},
		"the driver's value is the name of the node, and another appears": {byLabel("topology.topolvm.io/node", "t"), func(i *Inventory) {
			i.SetNode(labelled("t", "topology.topolvm.io/node", "t"))
			i.RemoveNode("t")
			i.SetNode(labelled("m"))
		}, absent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := NewInventory(settings([]string{hostname, nodeID, "topology.topolvm.io/node"}, "local"), testingclock.NewFakeClock(noon))
			i.MarkSynced()
			v := on("v", "h")
			if len(test.pins) > 0 {
				if p := test.pins[0]; p.key == "" {
					v.Spec.NodeAffinity.Required.NodeSelectorTerms[0] = field(in("metadata.name", p.name))
				} else {
					v.Spec.NodeAffinity.Required.NodeSelectorTerms[0] = term(in(p.key, p.name))
				}
				i.SetVolume(v)
			}
			test.then(i)
			node := i.volumes["v"].nodes[0]
			state, doubt := i.presenceOf(i.nodes, node)
			cause := doubt.why
			if state != test.want || !strings.Contains(cause, test.cause) || (cause == "") != (test.cause == "") {
				t.Errorf("presence = %s (%q), want %s (%q)", state, cause, test.want, test.cause)
			}
			_, missing := i.Missing()[node]
			if missing != (test.want == absent) || i.IsStale("v") != missing {
				t.Errorf("missing = %v, want %v", missing, test.want == absent)
			}
			if found := i.Untouched(); (len(found) > 0) != (test.want == uncertain) {
				t.Errorf("uncertain volumes = %v", found)
			}
		})
	}
}

// TestInventoryRestore checks that a record of an absence is used only if it is proven to be the same absence.
func TestInventoryRestore(t *testing.T) {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	recorded := func(node string, observed time.Duration) Knowledge {
		return Knowledge{Missing: map[string]time.Duration{node: observed}}
	}
	for name, test := range map[string]struct {
		memory Knowledge
		gap    time.Duration
		happen func(*Inventory)
		want   map[string]time.Time
	}{
		"confirmed a moment ago":                    {recorded("a", time.Hour), 0, nil, map[string]time.Time{"a": ago(time.Hour)}},
		"what was not observed does not count":      {recorded("a", 30*time.Second), 10 * time.Second, nil, map[string]time.Time{"a": ago(30 * time.Second)}},
		"confirmed a lease ago":                     {recorded("a", time.Hour), Lease, nil, map[string]time.Time{"a": noon}},
		"confirmed in the future":                   {recorded("a", time.Hour), -time.Nanosecond, nil, map[string]time.Time{"a": noon}},
		"missing after it was confirmed":            {recorded("a", -time.Hour), 0, nil, map[string]time.Time{"a": noon}},
		"not recorded":                              {Knowledge{}, 0, nil, map[string]time.Time{"a": noon}},
		"another node is recorded":                  {recorded("b", time.Hour), 0, nil, map[string]time.Time{"a": noon}},
		"it is back":                                {recorded("a", time.Hour), 0, func(i *Inventory) { i.SetNode(testNode("a", "a")) }, map[string]time.Time{}},
		"a relabelled node":                         {Knowledge{Seen: map[string][]string{"a": {"n"}}}, Lease, func(i *Inventory) { i.SetNode(testNode("n", "b")) }, map[string]time.Time{}},
		"a node that was seen and has been deleted": {Knowledge{Seen: map[string][]string{"a": {"n"}}}, 0, nil, map[string]time.Time{"a": noon}},
		"it was back in between": {recorded("a", time.Hour), 0, func(i *Inventory) {
			i.SetNode(testNode("a", "a"))
			i.RemoveNode("a")
		}, map[string]time.Time{"a": noon}},
	} {
		t.Run(name, func(t *testing.T) {
			i, _ := newTestInventory(t)
			i.SetVolume(on("v", "a"))
			if test.happen != nil {
				test.happen(i)
			}
			i.Restore(test.memory, test.gap)
			if diff := cmp.Diff(test.want, i.Missing()); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMemory checks that a restart retains which nodes had a name, even if the label changed meanwhile, and whether the name was
// ever observed.
func TestMemory(t *testing.T) {
	i, _ := newTestInventory(t)
	i.SetNode(testNode("n1", "a"))
	i.SetNode(testNode("n2", "b"))
	i.SetVolume(on("v", "a"))
	i.SetVolume(on("w", "never"))
	i.SetNode(testNode("n1", "c"))
	memory := i.Knowledge()
	if diff := cmp.Diff(map[string][]string{"a": {"n1"}}, memory.Seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]time.Duration{"never": 0}, memory.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	again, _ := newTestInventory(t)
	again.SetNode(testNode("n1", "c"))
	again.SetVolume(on("v", "a"))
	again.Restore(memory, 0)
	if again.IsStale("v") || len(again.Untouched()) != 1 {
		t.Error("the node that was relabelled is discarded")
	}
	again.RemoveNode("n1")
	if stale := again.Stale(); len(stale) != 1 || stale[0].Unknown {
		t.Errorf("stale = %+v, want the volume of a node that was seen", stale)
	}
	again.SetVolume(on("w", "never"))
	if stale := again.Stale(); len(stale) != 2 || !stale[1].Unknown {
		t.Errorf("stale = %+v, want the volume of a node that was never seen", stale)
	}
}

// TestRelabelIsReported checks that a change of labels triggers a reconciliation, which reports it.
func TestRelabelIsReported(t *testing.T) {
	i, _ := newTestInventory(t, "a")
	i.SetNode(testNode("n", "h"))
	i.SetVolume(on("v", "h"))
	for step, change := range []struct {
		change func() bool
		want   bool
	}{
		{func() bool { return i.SetNode(testNode("n", "h")) }, false},
		{func() bool { return i.SetNode(testNode("n", "g")) }, true},
		{func() bool { return i.SetNode(testNode("n", "f")) }, false},
		{func() bool { return i.SetNode(testNode("n", "h")) }, true},
		{func() bool { return i.SetNode(testNode("a", "b")) }, false},
		{func() bool { return i.RemoveNode("n") }, true},
		{func() bool { return i.SetNode(testNode("n", "g")) }, true},
	} {
		if got := change.change(); got != change.want {
			t.Errorf("step %d: worth a reconciliation = %v, want %v", step, got, change.want)
		}
	}
}

// TestRemainsStale checks that the same absence is required until the end: a node that was back during a batch starts another one.
func TestRemainsStale(t *testing.T) {
	i, clock := newTestInventory(t, "a")
	i.SetVolume(on("v", "a"))
	i.RemoveNode("a")
	stale := i.Stale()[0]
	if !i.StillStale(stale) {
		t.Error("nothing changed")
	}
	clock.Step(time.Second)
	i.SetNode(testNode("a", "a"))
	i.RemoveNode("a")
	if i.StillStale(stale) {
		t.Error("the node was back in between")
	}
}

// TestCensus checks that the brake counts nodes, so that several names of one node count once.
func TestCensus(t *testing.T) {
	i := NewInventory(settings([]string{hostname, nodeID}, "local"), testingclock.NewFakeClock(noon))
	for _, name := range []string{"a", "b", "c", "unused"} {
		i.SetNode(labelled(name, hostname, name, nodeID, "id-"+name))
	}
	i.MarkSynced()
	for name, host := range map[string]string{"v1": "a", "v2": "b", "v3": "c", "v4": "d"} {
		i.SetVolume(on(name, host))
		byID := on(name+"-id", host)
		byID.Spec.NodeAffinity.Required.NodeSelectorTerms[0] = term(in(nodeID, "id-"+host))
		if host != "d" {
			i.SetVolume(byID)
		}
	}
	i.RemoveNode("a")
	if got := i.MissingNodes(); got != 2 {
		t.Errorf("missing nodes = %d, want 2", got)
	}
	live := func(names ...string) *nodeSet {
		set := newNodeSet([]string{hostname, nodeID})
		for _, name := range names {
			set.set(labelled(name, hostname, name, nodeID, "id-"+name))
		}
		return set
	}
	relabelled := live("b", "c")
	relabelled.set(labelled("b", hostname, "x", nodeID, "y"))
	both := sets.New("a", "id-a", "d")
	onlyA := sets.New("a", "id-a")
	for name, test := range map[string]struct {
		live *nodeSet
		toDo sets.Set[string]
		want Census
	}{
		"what the events reported":           {nil, both, Census{Nodes: 3, Missing: 2, Live: 2}},
		"with nothing left to do on one":     {nil, onlyA, Census{Nodes: 3, Missing: 1, Live: 2}},
		"a live list that is further":        {live("c"), onlyA, Census{Nodes: 1, Missing: 2, Live: 1}},
		"a live list that has one back":      {live("a", "b", "c"), both, Census{Nodes: 3, Missing: 1, Live: 3}},
		"a live list that has no nodes left": {live(), both, Census{Missing: 4}},
		"a node that was relabelled":         {relabelled, both, Census{Nodes: 2, Missing: 2, Live: 2}},
	} {
		if diff := cmp.Diff(test.want, i.census(test.live, test.toDo)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDoubtAfterRestart checks that a restarted process regards only those Nodes as others that are proven to be, from the times of the
// API server in the record.
func TestDoubtAfterRestart(t *testing.T) {
	inventory := func(nodes ...*metav1.PartialObjectMetadata) *Inventory {
		i := NewInventory(settings([]string{nodeID}, "local"), testingclock.NewFakeClock(noon))
		for _, node := range nodes {
			i.SetNode(node)
		}
		v := made(on("v", "h"), -time.Hour)
		v.Spec.NodeAffinity.Required.NodeSelectorTerms[0] = term(in(nodeID, "u"))
		i.SetVolume(v)
		i.MarkSynced()
		return i
	}
	lost := registered(labelled("n", nodeID, "u"), 0)
	for name, test := range map[string]struct {
		before func() *Inventory
		after  *metav1.PartialObjectMetadata
		strip  bool
		stale  bool
	}{
		"lost while no process ran, one is older":   {func() *Inventory { return inventory(lost) }, registered(labelled("m"), -time.Hour), false, true},
		"lost while no process ran, one is younger": {func() *Inventory { return inventory(lost) }, registered(labelled("m"), time.Hour), false, false},
		"lost before, one is younger": {func() *Inventory {
			i := inventory(lost)
			i.RemoveNode("n")
			return i
		}, registered(labelled("m"), time.Hour), false, false},
		"the record is of a version without these times": {func() *Inventory { return inventory(lost) }, registered(labelled("m"), -time.Hour), true, false},
		"never seen, and one registered meanwhile":       {func() *Inventory { return inventory() }, registered(labelled("m"), time.Hour), false, false},
		"never seen, and one was there":                  {func() *Inventory { return inventory() }, registered(labelled("m"), -30*time.Minute), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			memory := test.before().Knowledge()
			memory.Confirmed = noon
			stored := &corev1.ConfigMap{}
			stored.Data = dataOf(t, memory, stored, Plan{})
			memory.Confirmed = noon.Add(time.Minute)
			if diff := cmp.Diff(stored.Data[RegisteredPrefix+"u"], dataOf(t, memory, stored, Plan{})[RegisteredPrefix+"u"]); diff != "" {
				t.Errorf("the time of a name changes (-before +now):\n%s", diff)
			}
			if test.strip {
				delete(stored.Data, RegisteredPrefix+"u")
			}
			again := inventory(test.after)
			again.Restore(*knowledgeOf(stored), Lease)
			if again.IsStale("v") != test.stale || len(recordedMissing(stored.Data)) > 1 {
				t.Errorf("stale = %v, want %v, uncertain: %v, record %v", again.IsStale("v"), test.stale, again.Untouched(), stored.Data)
			}
		})
	}
}
