// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

const topoLVM = "topology.topolvm.io/node"

// twoDrivers enables a driver whose label has the name of the Node, and one whose label has another identifier.
func twoDrivers(c *configv1alpha1.LocalVolumeConfiguration) {
	c.CSIDrivers = []configv1alpha1.CSIDriver{{Name: "zfs.csi.openebs.io", TopologyKey: nodeID}, {Name: "topolvm.io", TopologyKey: topoLVM}}
	c.WorkerThreads = new(int32(1))
}

// bindCSI makes a bound volume of a driver, on the node with that label.
func (b *bench) bindCSI(name, driver, key, value string) *corev1.PersistentVolumeClaim {
	b.T.Helper()
	_, claim := b.Bind(name, value)
	localvolumetest.Change(b.World, localvolumetest.Volume(name, ""), func(v *corev1.PersistentVolume) {
		v.Spec.Local = nil
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
		v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = key
		v.CreationTimestamp = metav1.NewTime(b.Clock.Now())
	})
	b.Sync()
	return claim
}

// zfsNodes has two Nodes of the drivers, and one without either, all there for a day.
func zfsNodes(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, twoDrivers, "zfs1", "zfs2", "cp1")
	b.LabelNode("zfs1", map[string]string{nodeID: "serial-7", topoLVM: "zfs1"})
	b.LabelNode("zfs2", map[string]string{nodeID: "serial-8", topoLVM: "zfs2"})
	b.Clock.Step(24 * time.Hour)
	return b
}

// TestNodeWithoutLabel checks that a Node without the label of the driver, which was there when another one had it, does not keep the
// claims of the other one, and that one that appears later does.
func TestNodeWithoutLabel(t *testing.T) {
	for name, restart := range map[string]bool{"in the same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			b := zfsNodes(t)
			for _, node := range []string{"cp1", "zfs1", "zfs2"} {
				b.setRegistered(node, map[string]time.Duration{"cp1": -time.Hour}[node])
			}
			zfs, topo := b.bindCSI("zfs", "zfs.csi.openebs.io", nodeID, "serial-7"), b.bindCSI("topo", "topolvm.io", topoLVM, "zfs1")
			b.pass(time.Second)
			if !restart {
				b.LoseNode("zfs1")
			} else {
				b.Store.Remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "zfs1"}})
				b.restart(twoDrivers)
			}
			b.pass(time.Second)
			b.kept("the delay is not over", zfs, topo)
			b.pass(localvolumetest.Delay)
			b.expectDeleted("the other nodes are others", zfs, topo)
		})
	}
}

// setRegistered sets when a Node was registered, relative to now.
func (b *bench) setRegistered(name string, at time.Duration) {
	b.T.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	localvolumetest.Change(b.World, node, func(node *corev1.Node) { node.CreationTimestamp = metav1.NewTime(b.Clock.Now().Add(at)) })
	b.Site.Inventory.SetNode(node)
}

// TestNodeWithoutLabelAppears checks that a Node that is registered after the loss without the label keeps the claims, is named, and no
// longer keeps them when it has another value of the label.
func TestNodeWithoutLabelAppears(t *testing.T) {
	b := zfsNodes(t)
	claim := b.bindCSI("zfs", "zfs.csi.openebs.io", nodeID, "serial-7")
	b.pass(time.Second)
	b.LoseNode("zfs1")
	b.pass(time.Second)
	b.AddNode("new")
	b.pass(time.Second)
	if events := b.Events(); !has(events, "Warning ReferencedNodeUncertain zfs: The volume and its claim are retained: ",
		"no node has the label openebs.io/nodeid=serial-7, but node new without the label openebs.io/nodeid could be the one") {
		t.Errorf("the node in doubt is not named: %q", events)
	}
	b.pass(time.Hour)
	b.kept("the new node may be the one", claim)
	b.LabelNode("new", map[string]string{nodeID: "serial-9"})
	b.pass(time.Second)
	b.pass(localvolumetest.Delay)
	b.expectDeleted("the new node is another one", claim)
}

// TestNodeWithoutLabelAppearsDuringBatch checks that a Node without the label that is registered during a batch keeps the claims whose
// turn has not come.
func TestNodeWithoutLabelAppearsDuringBatch(t *testing.T) {
	for name, labels := range map[string]map[string]string{"without": nil, "empty": {nodeID: ""}} {
		t.Run(name, func(t *testing.T) {
			b := zfsNodes(t)
			var claims []*corev1.PersistentVolumeClaim
			for i := range 5 {
				claims = append(claims, b.bindCSI(fmt.Sprintf("c%d", i), "zfs.csi.openebs.io", nodeID, "serial-7"))
			}
			b.pass(time.Second)
			b.LoseNode("zfs1")
			b.pass(time.Second)
			deletions := 0
			b.Deleting = func(string) {
				if deletions++; deletions == 2 {
					b.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}})
				}
			}
			b.pass(localvolumetest.Delay)
			kept := 0
			for _, claim := range claims {
				if b.Exists(claim) {
					kept++
				}
			}
			if kept != len(claims)-2 {
				t.Errorf("%d of %d claims are retained, want all except the 2 that were deleted before the node appeared", kept, len(claims))
			}
		})
	}
}

// TestLostBeforeFirstStart checks that a claim whose node was lost before the first start is deleted, if the label of its driver has
// the name of the node, although a node exists that has no such label.
func TestLostBeforeFirstStart(t *testing.T) {
	b := zfsNodes(t)
	topo := b.bindCSI("topo", "topolvm.io", topoLVM, "gone")
	zfs := b.bindCSI("zfs", "zfs.csi.openebs.io", nodeID, "serial-0")
	b.pass(time.Second)
	b.pass(2 * time.Hour)
	b.expectDeleted("no node can be the one", topo)
	b.kept("a node as old as the volume may be the one", zfs)
}

// TestNeverSeen checks that a claim whose node was never seen is announced from the beginning, and deleted after a separate delay.
func TestNeverSeen(t *testing.T) {
	unknown := func(delay time.Duration) func(*configv1alpha1.LocalVolumeConfiguration) {
		return func(c *configv1alpha1.LocalVolumeConfiguration) {
			c.UnknownNodeDeletionDelay = &metav1.Duration{Duration: delay}
		}
	}
	t.Run("after an hour", func(t *testing.T) {
		b := newBench(t, unknown(time.Hour), "a")
		_, claim := b.Bind("c", "never")
		b.pass(time.Second)
		if events := b.Events(); !has(events, "Warning ReferencedNodeDeleted c: Node never does not exist and was never seen", "be deleted at 2030-01-02T13:00:00Z unless the node joins") {
			t.Errorf("the claim has no event: %q", events)
		}
		b.pass(time.Hour - 2*time.Second)
		b.kept("the delay of unknown nodes is not over", claim)
		b.pass(time.Second)
		b.expectDeleted("the node did not join", claim)
	})
	t.Run("the node joins, and is lost", func(t *testing.T) {
		b := newBench(t, unknown(time.Hour), "a")
		_, claim := b.Bind("c", "joins")
		b.pass(time.Second)
		b.AddNode("joins")
		b.pass(time.Second)
		b.LoseNode("joins")
		b.pass(time.Second)
		b.pass(localvolumetest.Delay)
		b.expectDeleted("the node was seen", claim)
	})
	t.Run("never", func(t *testing.T) {
		b := newBench(t, unknown(0), "a")
		_, claim := b.Bind("c", "never")
		b.pass(time.Second)
		if events := b.Events(); !has(events, "Normal LocalVolumeCleanupSkipped c: Node never does not exist, but the claim is retained: no such node was ever seen", "--unknown-node-deletion-delay") {
			t.Errorf("the claim has no event: %q", events)
		}
		b.pass(48 * time.Hour)
		b.kept("it is never deleted", claim)
	})
}
