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
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/localvolumetest"
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

// pods makes a cluster in which claim "c" was deleted with its node, and gone is what comes of its pods.
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
	} {
		t.Run(name, func(t *testing.T) {
			b, claim := newWaiting(t, test.enabled)
			b.pass(localvolumetest.Delay)
			b.gone("its node is", claim)
			if !b.podNames()["waits"] {
				t.Fatal("a pod went before its claim was known to be gone")
			}
			if test.between != nil {
				test.between(b)
			}
			b.r.waiters.add(claim)
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

// A claim that somebody else deleted is none of our business.
func TestPendingPodsOfOthers(t *testing.T) {
	b, claim := newWaiting(t, true)
	b.r.waiters.add(claim)
	b.pass(time.Second)
	if !b.podNames()["waits"] {
		t.Error("the pod was deleted")
	}
}

func TestPendingPodsAgain(t *testing.T) {
	b, claim := newWaiting(t, true)
	b.pass(localvolumetest.Delay)
	b.r.waiters.add(claim)
	b.Refuse = func(request string) error {
		if request == "list pods" {
			return errors.New("timeout")
		}
		return nil
	}
	if _, err := b.after(time.Second); err == nil {
		t.Error("no error")
	}
	b.Refuse = nil
	b.pass(time.Second)
	if b.podNames()["waits"] {
		t.Error("it is not tried again")
	}
	b.kept("of the others", client.Object(pendingPod("scheduled", "c")))
}
