// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

func pendingPod(name, claim string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "other"}, {Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	pod.Status.Phase = corev1.PodPending
	for _, f := range change {
		f(pod)
	}
	return pod
}

// pods makes a cluster in which claim "c" was deleted with its node, and expected is the outcome for its pods.
func newWaiting(t *testing.T, enabled bool) (*bench, *corev1.PersistentVolumeClaim) {
	t.Helper()
	b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.DeletePendingPods = new(enabled) }, "a", "b")
	_, claim := b.Bind("c", "a")
	for _, pod := range []*corev1.Pod{
		pendingPod("waits", "c"),
		pendingPod("scheduled", "c", func(p *corev1.Pod) { p.Spec.NodeName = "b" }),
		pendingPod("running", "c", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }),
		pendingPod("another-claim", "d"),
		pendingPod("elsewhere", "c", func(p *corev1.Pod) { p.Namespace = "other" }),
	} {
		b.Add(pod)
	}
	b.LoseNode("a")
	b.pass(time.Second)
	return b, claim
}

func (b *bench) podNames() map[string]bool {
	b.T.Helper()
	pods := &corev1.PodList{}
	if err := b.Store.List(b.T.Context(), pods); err != nil {
		b.T.Fatal(err)
	}
	names := map[string]bool{}
	for _, pod := range pods.Items {
		names[pod.Name] = true
	}
	return names
}

func TestPendingPods(t *testing.T) {
	enabled := func(c *configv1alpha1.LocalVolumeConfiguration) { c.DeletePendingPods = new(true) }
	for name, test := range map[string]struct {
		enabled bool
		between func(*bench)
		want    bool // that the pod stays
	}{
		"off": {false, nil, true},
		"on":  {true, nil, false},
		"the claim is there once more": {true, func(b *bench) {
			b.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}})
		}, true},
		"after a restart":                       {true, func(b *bench) { b.restart(enabled); b.pass(localvolumetest.Delay) }, false},
		"after a restart, and the node is back": {true, func(b *bench) { b.AddNode("a"); b.restart(enabled); b.pass(localvolumetest.Delay) }, true},
		"the volume is opted out": {true, func(b *bench) {
			localvolumetest.Change(b.World, localvolumetest.Volume("c", "a"), optOut)
		}, true},
		"a dry run": {true, func(b *bench) {
			b.restart(func(c *configv1alpha1.LocalVolumeConfiguration) { enabled(c); c.DryRun = new(true) })
			b.pass(localvolumetest.Delay)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, claim := newWaiting(t, test.enabled)
			b.pass(localvolumetest.Delay)
			b.expectDeleted("its node is", claim)
			if !b.podNames()["waits"] {
				t.Fatal("a pod went before its claim was known to have been deleted")
			}
			b.SetPhase("c", corev1.VolumeReleased)
			if test.between != nil {
				test.between(b)
			}
			b.pass(time.Second)
			names := b.podNames()
			if names["waits"] != test.want {
				t.Errorf("the pod that waits: %v", names["waits"])
			}
			for _, other := range []string{"scheduled", "running", "another-claim", "elsewhere"} {
				if !names[other] {
					t.Errorf("pod %s was deleted", other)
				}
			}
		})
	}
}

// TestPendingPodsOfClaims checks that the pods of a claim are left alone while the claim exists.
func TestPendingPodsOfClaims(t *testing.T) {
	b, claim := newWaiting(t, true)
	localvolumetest.Change(b.World, claim, func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"kubernetes.io/pvc-protection"} })
	b.pass(localvolumetest.Delay)
	b.pass(time.Second)
	if !b.podNames()["waits"] {
		t.Error("the pod was deleted")
	}
}

// TestPendingPodsAgain checks that the volume is retained until its pods are deleted, because it is the record of them, and that a
// pod that cannot be deleted does not block others.
func TestPendingPodsAgain(t *testing.T) {
	b, _ := newWaiting(t, true)
	b.pass(localvolumetest.Delay)
	b.SetPhase("c", corev1.VolumeReleased)
	b.Add(pendingPod("waits-too", "c"))
	b.Intercept = func(request string) error {
		if request == "delete pod waits" {
			return errors.New("a webhook denies it")
		}
		return nil
	}
	decision := func() localvolume.Decision {
		b.Sync()
		subjects, err := b.Site.Survey(t.Context())
		if err != nil || len(subjects) != 1 {
			t.Fatalf("%v, %v", subjects, err)
		}
		return subjects[0].VolumeDecision
	}
	b.pass(time.Second)
	if names := b.podNames(); !names["waits"] || names["waits-too"] {
		t.Errorf("pods = %v, want the one that is rejected", names)
	}
	if got := decision(); got.Action != localvolume.Wait {
		t.Errorf("volume: %+v", got)
	}
	b.Intercept = nil
	b.pass(2 * time.Second)
	if b.podNames()["waits"] {
		t.Error("it is not tried again")
	}
	if got := decision(); got.Action != localvolume.Delete {
		t.Errorf("volume: %+v", got)
	}
	b.kept("of the others", client.Object(pendingPod("scheduled", "c")))
}
