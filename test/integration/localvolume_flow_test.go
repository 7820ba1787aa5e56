// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// delay is the delay of claims in these tests.
const delay = 2 * time.Second

// TestLocalVolumes runs the cleanup of local volumes on a real control plane, with the binder, the protection finalizers and the
// StatefulSets of Kubernetes. Each test has its own storage class, and thus its own configuration file.
func TestLocalVolumes(t *testing.T) {
	t.Parallel()
	p := newVolumePlane(t)
	t.Run("flows", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *volumePlane){
			"StatefulSet, by the controller manager": testStatefulSet,
			"the drop-in":                            testDropIn,
			"a node that returns":                    testNodeReturns,
			"a label that is not the name":           testLabelIsNotTheName,
			"a claim bound late":                     testLateBound,
			"failed volumes":                         testFailedVolumes,
			"restart":                                testRestart,
			"nodes that may not be listed":           testNodesForbidden,
			"nodes that are lost, but exist":         testOutages,
			"machines that are alive":                testProofOfLife,
			"classes with annotations":               testClassAnnotations,
			"all nodes at the same time":             testAllNodes,
			"the permissions of the original":        testOriginalPermissions,
			"pending pods":                           testPendingPods,
			"a node that is relabelled":              testRelabelledNode,
			"volumes before their node":              testUnknownNodes,
			"volumes of other sources":               testOtherSources,
			"a driver that never responds":           testDriverNeverResponds,
			"an old view of nodes":                   testOldViewOfNodes,
			"two that clean up one class":            testTwoCleaners,
			"the controller manager and the drop-in": testManagerAndDropIn,
			"an old view of volumes and claims":      testOldViewOfVolumes,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, p)
			})
		}
	})
	rejected, requests := p.denials(t)
	for _, user := range []string{dropIn, manager} {
		if user = "system:serviceaccount:groundskeeper-system:" + user; requests[user] == 0 {
			t.Errorf("the audit log has no request of %s", user)
		}
		for _, what := range rejected {
			if strings.HasPrefix(what, user+" ") {
				t.Errorf("a right is missing in artifacts/: %s", what)
			}
		}
	}
}

// testStatefulSet runs the whole procedure: a StatefulSet loses its node, and continues on another one.
func testStatefulSet(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, managedClass)
	nodes := map[string]*corev1.Node{"a": v.node("a"), "b": v.node("b")}
	volumes := map[string]*corev1.PersistentVolume{"a": v.volume("a", "a"), "b": v.volume("b", "b")}
	labels := map[string]string{"app": "db"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: "db"}}
	set.Spec.Replicas = new(int32(1))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "db", Image: "db"}}
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	template.Spec.StorageClassName = new(v.class)
	template.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	template.Spec.Resources.Requests = volumes["a"].Spec.Capacity
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{template}
	v.create(set)

	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: "data-db-0"}}
	boundClaim := func(before *corev1.PersistentVolumeClaim) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := v.c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
				return err
			}
			if claim.Status.Phase != corev1.ClaimBound || before != nil && claim.UID == before.UID {
				return fmt.Errorf("claim %s is %s", claim.UID, claim.Status.Phase)
			}
			return nil
		})
	}
	boundClaim(nil)
	lost := strings.TrimPrefix(claim.Spec.VolumeName, v.ns+"-")
	other := map[string]string{"a": "b", "b": "a"}[lost]

	// The scheduler's part, and then the loss of the node.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: "db-0"}}
	eventually(t, func(ctx context.Context) error { return v.c.Get(ctx, client.ObjectKeyFromObject(pod), pod) })
	if err := v.c.SubResource("binding").Create(t.Context(), pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodes[lost].Name}}); err != nil {
		t.Fatal(err)
	}
	since := v.lose(nodes[lost])
	before := claim.DeepCopy()
	scheduled := v.event(before, localvolume.EventScheduled)
	if scheduled.Type != corev1.EventTypeWarning || scheduled.InvolvedObject.UID != before.UID {
		t.Errorf("event %+v", scheduled)
	}
	// A pod of that node still uses the claim, which therefore stays Terminating until the pod has been deleted.
	eventually(t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.DeletionTimestamp.IsZero() {
			return fmt.Errorf("claim %s is not deleted", claim.Name)
		}
		return nil
	})
	if waited := time.Since(since); waited < delay {
		t.Errorf("the claim went after %s", waited)
	}
	// The pod garbage collector's part.
	if err := v.c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	v.absent(before, volumes[lost])
	v.event(volumes[lost], localvolume.EventDeleting)
	boundClaim(before)
	if claim.Spec.VolumeName != volumes[other].Name {
		t.Errorf("the new claim has volume %s", claim.Spec.VolumeName)
	}
	v.stays("its node lives", claim, volumes[other])
}

// testDropIn checks the drop-in controller with the permissions in artifacts/: what is deleted, and what is retained.
func testDropIn(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a, b := v.node("a"), v.node("b")
	otherClass := p.newVolumes(t, "")
	_, foreign := otherClass.bound("foreign", "x", func(pv *corev1.PersistentVolume) {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{a.Name}
	})
	volume, claim := v.bound("deleted", "a")
	retained, retainedClaim := v.bound("retained", "a", func(pv *corev1.PersistentVolume) { pv.Spec.PersistentVolumeReclaimPolicy = "Retain" })
	held, heldClaim := v.bound("held", "a", func(pv *corev1.PersistentVolume) { pv.Finalizers = []string{"example.com/foreign"} })
	optedOut, optedOutClaim := v.bound("opted-out", "a", func(pv *corev1.PersistentVolume) {
		pv.Annotations[localvolume.OptOutAnnotation] = localvolume.OptOutValue
	})
	zone, zoneClaim := v.bound("zone", "a", func(pv *corev1.PersistentVolume) {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = "topology.kubernetes.io/zone"
	})
	living, livingClaim := v.bound("living", "b")
	available := v.volume("available", "a")
	v.phase(available, corev1.VolumeAvailable)
	c := v.clean()
	v.event(zone, localvolume.EventNotNodeBound)

	since := v.lose(a)
	v.absent(available)
	v.absent(claim, retainedClaim, heldClaim)
	if waited := time.Since(since); waited < delay {
		t.Errorf("the claims went after %s", waited)
	}
	v.absent(volume)
	for object, reason := range map[client.Object]string{
		claim: localvolume.EventScheduled, volume: localvolume.EventDeleting, retained: localvolume.EventSkipped,
		optedOutClaim: localvolume.EventSkipped, available: localvolume.EventDeleting,
	} {
		v.event(object, reason)
	}
	v.phase(retained, corev1.VolumeReleased)
	v.event(held, localvolume.EventDeleting)
	c.metric(`local_volume_node_cleanup_persistentvolumeclaim_delete_total 3`)
	c.metric(`local_volume_node_cleanup_persistentvolume_delete_total{phase="Available"} 1`)
	c.metric(`local_volume_node_cleanup_persistentvolume_delete_total{phase="Released"} 2`)
	c.metric(`groundskeeper_local_volume_missing_nodes{cluster=""} 1`)
	c.metric(`groundskeeper_local_volume_not_node_bound{cluster=""} 1`)
	v.stays("not to be touched", retained, optedOut, optedOutClaim, zone, zoneClaim, living, livingClaim, foreign, b)
	eventually(t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil {
			return err
		}
		if held.DeletionTimestamp.IsZero() {
			return fmt.Errorf("volume %s is not deleted", held.Name)
		}
		return nil
	})
	if err := v.c.Patch(t.Context(), held, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	v.absent(held)
	c.metric(`local_volume_node_cleanup_persistentvolume_delete_total{phase="Released"} 2`)
}

// testNodeReturns checks that a node that flaps, or returns with another UID, loses nothing, and that a second loss starts a full
// delay.
func testNodeReturns(t *testing.T, p *volumePlane) {
	const delay = 10 * time.Second // the node has to be back within it
	v := p.newVolumes(t, "")
	a, b := v.node("a"), v.node("b")
	v.node("c")
	_, claim := v.bound("a", "a")
	_, canary := v.bound("b", "b")
	_, living := v.bound("c", "c")
	v.clean("--pvc-deletion-delay=" + delay.String())
	v.lose(a, b)
	v.event(claim, localvolume.EventScheduled)
	a = v.node("a")
	v.absent(canary)
	v.stays("its node is back", claim, living)
	v.event(claim, localvolume.EventCancelled)
	v.lose(a)
	a = v.node("a") // back immediately
	second := v.lose(a)
	v.absent(claim)
	if waited := time.Since(second); waited < delay {
		t.Errorf("the claim went %s after the last loss", waited)
	}
	v.stays("its node lives", living)
}

// A volume names its node by the label, which need not be the name of the node.
func testLabelIsNotTheName(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	node, other := v.node("i-0001", "host-1"), v.node("i-0002", "host-2")
	_, claim := v.bound("one", "host-1")
	_, canary := v.bound("two", "host-2")
	c := v.clean()
	c.metric(`groundskeeper_local_volume_missing_nodes{cluster=""} 0`)
	v.lose(other)
	v.absent(canary)
	v.stays("the node has the label", claim)
	v.lose(node)
	v.absent(claim)
}

// testLateBound checks that a claim that is bound to a volume whose node has already been deleted does not wait for another loss.
func testLateBound(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	v.node("living")
	c := v.clean("--dry-run")
	volume, claim := v.bound("late", "never-there")
	v.event(claim, localvolume.EventScheduled)
	v.event(claim, localvolume.EventSkipped)
	v.stays("a dry run", claim, volume)
	c.kill()
	v.clean("--delete-volumes-of-unknown-nodes")
	v.absent(claim, volume)
	again, late := v.bound("again", "never-there")
	v.absent(late, again)
}

// testFailedVolumes checks that, without an external provisioner, Kubernetes fails to delete a Released volume, which then remains
// unless its deletion is enabled.
func testFailedVolumes(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a := v.node("a")
	v.node("b")
	volume, claim := v.bound("failed", "a", func(pv *corev1.PersistentVolume) { pv.Annotations = nil })
	c := v.clean("--dry-run")
	if err := v.c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	v.phase(volume, corev1.VolumeFailed)
	c.kill()
	c = v.clean("--leader-elect=false")
	canary := v.volume("canary", "a")
	v.phase(canary, corev1.VolumeAvailable)
	v.lose(a)
	v.absent(canary)
	v.event(volume, localvolume.EventSkipped)
	v.stays("it failed", volume)
	c.kill()
	v.clean("--leader-elect=false", "--include-failed-volumes")
	v.absent(volume)
}

// testRestart checks that a crash during the delay neither loses nor restarts it.
func testRestart(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a := v.node("a")
	v.node("b")
	_, claim := v.bound("a", "a")
	const long = 20 * time.Second
	flags := []string{"--leader-elect=false", "--pvc-deletion-delay=" + long.String()}
	c := v.clean(flags...)
	since := v.lose(a)
	record := &corev1.ConfigMap{}
	eventually(t, func(ctx context.Context) error {
		err := v.c.Get(ctx, client.ObjectKey{Namespace: v.ns, Name: localvolume.RecordName}, record)
		if err == nil && len(missingIn(record)) == 0 {
			err = errors.New("the record has no missing node")
		}
		return err
	})
	at, err := time.Parse(time.RFC3339Nano, record.Data[a.Name])
	if err != nil || len(missingIn(record)) != 1 {
		t.Fatalf("the record is %v, %v", record.Data, err)
	}
	eventually(t, func(context.Context) error { // half of the delay passes
		if rest := long/2 - time.Since(since); rest > 0 {
			return fmt.Errorf("%s too early", rest)
		}
		return nil
	})
	killed := time.Now()
	c.kill()
	v.stays("in the middle of the delay", claim)
	v.clean(flags...)
	v.absent(claim)
	if waited := time.Since(at); waited < long {
		t.Errorf("it went %s after the loss", waited)
	}
	// The time without a process was added to that of the loss, and what was seen before it counts: the delay did not start over.
	if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil {
		t.Fatal(err)
	}
	if again, err := time.Parse(time.RFC3339Nano, record.Data[a.Name]); err != nil || !again.Before(killed) {
		t.Errorf("the record is %v, %v; the process was killed at %s", record.Data, err, killed)
	}
}
