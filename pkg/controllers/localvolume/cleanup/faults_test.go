// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

const nodeID = "openebs.io/nodeid"

// twoKeys lets volumes name their nodes by two labels.
func twoKeys(c *configv1alpha1.LocalVolumeConfiguration) {
	c.NodeTopologyKeys = []string{corev1.LabelHostname, nodeID}
}

// restart ends the process as SIGKILL does, and starts another one, which is notified of what exists.
func (b *bench) restart(configure func(*configv1alpha1.LocalVolumeConfiguration)) {
	b.T.Helper()
	b.Restart(configure)
	b.r = newReconciler(b.Site)
}

// TestRelabelledNode checks that a change of the labels of a running node is not considered a loss, by the same process or the next
// one.
func TestRelabelledNode(t *testing.T) {
	for name, restart := range map[string]func(*bench){
		"in the same process": func(*bench) {},
		"after a restart":     func(b *bench) { b.restart(twoKeys) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, twoKeys, "a", "b", "c")
			b.LabelNode("a", map[string]string{corev1.LabelHostname: "host-a", nodeID: "id-a"})
			b.LabelNode("b", map[string]string{nodeID: "id-b"})
			b.LabelNode("c", map[string]string{nodeID: "id-c"})
			_, byHost := b.Bind("host", "host-a")
			_, byID := b.Bind("id", "id-a")
			localvolumetest.Change(b.World, localvolumetest.Volume("id", ""), func(v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = nodeID
			})
			b.pass(time.Second)
			b.LabelNode("a", map[string]string{corev1.LabelHostname: "other", nodeID: ""})
			restart(b)
			for range 3 {
				b.pass(time.Hour)
			}
			b.kept("its node is running", byHost, byID)
			events := b.Events()
			for _, volume := range []string{"host", "id"} {
				if !has(events, "Warning ReferencedNodeUncertain "+volume+": The volume and its claim are retained: ", "but node a, which had it, still exists") {
					t.Errorf("volume %s has no event: %q", volume, events)
				}
			}
			b.LoseNode("a")
			b.pass(time.Second)
			b.pass(localvolumetest.Delay)
			b.expectDeleted("its node was deleted", byHost, byID)
		})
	}
}

// TestSecondLossWhileStopped checks that the delay is that of the second loss if a node is deleted, the process killed, the node
// recreated and deleted again, and the process started.
func TestSecondLossWhileStopped(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.pass(time.Second)
	b.LoseNode("a")
	b.pass(3 * time.Second)
	b.Clock.Step(70 * time.Second) // the process is killed, and the node is back meanwhile
	b.restart(nil)
	b.pass(0)
	b.pass(59 * time.Second)
	b.kept("the second loss starts a full delay", claim)
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

// TestSuspended checks that a process that was suspended does not know whether the node was back.
func TestSuspended(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(5 * time.Second)
	b.Clock.Step(70 * time.Second) // SIGSTOP
	if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
		t.Fatal(err)
	}
	b.kept("nothing was observed for 70s", claim)
	b.Site.Beat(t.Context())
	b.pass(59 * time.Second)
	b.kept("the delay starts over", claim)
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

// TestCutOff checks that a process that could not reach the API server does not know either.
func TestCutOff(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(5 * time.Second)
	b.Intercept = func(request string) error {
		if request == localvolumetest.Ping {
			return errors.New("connection refused")
		}
		return nil
	}
	b.pass(70 * time.Second)
	b.kept("nothing was observed for 70s", claim)
	b.Intercept = nil
	b.pass(5 * time.Second)
	b.pass(59 * time.Second)
	b.kept("the delay starts over", claim)
	b.pass(time.Second)
	b.expectDeleted("after the full delay", claim)
}

// TestRecordIsSavedLater checks that what could not be saved while nothing was observed is saved afterwards, although nothing changes.
func TestRecordIsSavedLater(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[localvolume.Pass]())
	defer queue.ShutDown()
	if err := b.Site.Follow().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second)
	b.Clock.Step(70 * time.Second) // SIGSTOP
	b.Bind("c", "a")
	b.Sync()
	if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
		t.Fatal(err)
	}
	b.Site.Beat(t.Context())
	if queue.Len() != 1 {
		t.Fatal("no reconciliation follows")
	}
	pass, _ := queue.Get()
	queue.Done(pass)
	b.pass(time.Second)
	if _, seen := b.readRecord(); seen["a"] != "a" {
		t.Errorf("seen = %v, want a", seen)
	}
	if b.Site.Beat(t.Context()); queue.Len() != 0 {
		t.Error("another reconciliation follows, though everything is saved")
	}
}

// TestFlapsDuringBatch checks that a node that returns and disappears during a batch saves the rest of it, because it is another
// absence.
func TestFlapsDuringBatch(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.WorkerThreads = new(int32(1)) }, "a", "b")
	_, first := b.Bind("c0", "a")
	_, second := b.Bind("c1", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.Deleting = func(string) {
		b.Clock.Step(time.Millisecond)
		b.Site.Inventory.SetNode(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		b.Site.Inventory.RemoveNode("a")
	}
	b.pass(localvolumetest.Delay)
	kept, expectDeleted := first, second
	if !b.Exists(first) {
		kept, expectDeleted = second, first
	}
	b.expectDeleted("before the node was back", expectDeleted)
	b.kept("the node was back in between", kept)
}

// TestRejectedDeletions checks that any number of rejected deletions does not block others.
func TestRejectedDeletions(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.PVCDeletionDelay = &metav1.Duration{} }, "a", "b", "c")
	b.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	bind := func(name string) client.Object {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		claim.Spec.VolumeName = name
		b.Add(claim)
		b.Add(localvolumetest.Volume(name, "a", func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.ClaimRef = corev1.VolumeBound, &corev1.ObjectReference{Namespace: "default", Name: name, UID: claim.UID}
		}))
		return claim
	}
	for i := range localvolume.MaxBatch {
		bind(fmt.Sprintf("a%04d", i))
	}
	other := bind("z")
	b.pass(time.Second)
	b.LoseNode("a")
	b.Intercept = func(request string) error {
		if strings.HasPrefix(request, "delete claim a") {
			return errors.New("a webhook denies it")
		}
		return nil
	}
	b.pass(time.Second)
	if next := b.pass(time.Second); next > time.Second {
		t.Errorf("the next reconciliation is after %s", next)
	}
	b.expectDeleted("others are rejected", other)
	b.Requests()
	count := 0
	for range 8 {
		b.pass(2 * time.Second)
		for _, request := range b.Requests() {
			if request == "delete claim a0000" {
				count++
			}
		}
	}
	if count < 2 || count > 4 {
		t.Errorf("%d more tries in 16s, want a pause that doubles", count)
	}
}

// TestDryRunOfMany checks that a dry run reports the result for all claims, not only those of the first batch.
func TestDryRunOfMany(t *testing.T) {
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) {
		c.DryRun, c.PVCDeletionDelay = new(true), &metav1.Duration{}
	}, "a", "b", "c")
	b.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	for i := range localvolume.MaxBatch + 1 {
		name := fmt.Sprintf("a%04d", i)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		claim.Spec.VolumeName = name
		b.Add(claim)
		b.Add(localvolumetest.Volume(name, "a", func(v *corev1.PersistentVolume) {
			v.Status.Phase, v.Spec.ClaimRef = corev1.VolumeBound, &corev1.ObjectReference{Namespace: "default", Name: name, UID: claim.UID}
		}))
	}
	b.pass(time.Second)
	b.LoseNode("a")
	for range 3 {
		b.pass(time.Second)
	}
	reported := 0
	for _, event := range b.Events() {
		if strings.Contains(event, "Dry run: this claim would be deleted") {
			reported++
		}
	}
	if reported != localvolume.MaxBatch+1 {
		t.Errorf("%d claims are notified, want each once", reported)
	}
}
