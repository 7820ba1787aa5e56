// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

func proofOfLife(c *configv1alpha1.LocalVolumeConfiguration) { c.ProofOfLife = new(true) }

// lease makes the Lease of a node.
func (b *bench) lease(node string) {
	b.T.Helper()
	b.Add(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node}})
}

// renew does what the kubelet of a node does.
func (b *bench) renew(node string) {
	b.T.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node}}
	localvolumetest.Change(b.World, lease, func(l *coordinationv1.Lease) { l.Spec.RenewTime = &metav1.MicroTime{Time: b.Clock.Now()} })
}

// TestProofOfLife checks that a machine that renews its Lease keeps its claims, until it was silent for a whole delay.
func TestProofOfLife(t *testing.T) {
	b := newBench(t, proofOfLife, "a", "b")
	_, claim := b.Bind("c", "a")
	b.lease("a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(localvolumetest.Delay / 2)
	b.renew("a")
	b.Events()
	b.pass(localvolumetest.Delay / 2)
	b.kept("its machine is alive", claim)
	if events := b.Events(); !has(events, "Normal LocalVolumeCleanupSkipped c", "the machine of node a is alive, because its Lease was renewed") {
		t.Errorf("events %v", events)
	}
	b.pass(time.Second)
	b.pass(localvolumetest.Delay - 2*time.Second)
	b.kept("the delay started over", claim)
	b.pass(2 * time.Second)
	b.expectDeleted("its machine is silent", claim)
}

// TestProofOfLifeNotEnabled checks that signs of life neither matter nor are read by default.
func TestProofOfLifeNotEnabled(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.lease("a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.renew("a")
	b.pass(localvolumetest.Delay)
	b.expectDeleted("nothing is read of its machine", claim)
}

// TestSilence checks that the silence of a machine is observed for long enough, whatever the delay, and after a restart, too.
func TestSilence(t *testing.T) {
	short := func(c *configv1alpha1.LocalVolumeConfiguration) {
		proofOfLife(c)
		c.PVCDeletionDelay = &metav1.Duration{}
	}
	b := newBench(t, short, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(30 * time.Second)
	b.kept("its machine was observed for half a minute", claim)
	b.Restart(short)
	b.r = newReconciler(b.Site)
	b.pass(time.Second)
	b.pass(30 * time.Second)
	b.kept("another process observed half of it", claim)
	b.pass(10 * time.Second)
	b.expectDeleted("its machine is silent", claim)
}

// TestProofOfLifeFails checks that a claim is retained while the signs of life cannot be read, before the delay and after it.
func TestProofOfLifeFails(t *testing.T) {
	for name, from := range map[string]time.Duration{"from the beginning": 0, "at the end": localvolumetest.Delay / 2} {
		for _, broken := range []string{"get lease", "list pods"} {
			t.Run(broken+" "+name, func(t *testing.T) {
				b := newBench(t, proofOfLife, "a", "b")
				_, claim := b.Bind("c", "a")
				b.LoseNode("a")
				fail := func(request string) error {
					if request == broken {
						return errors.New("unavailable")
					}
					return nil
				}
				if from == 0 {
					b.Intercept = fail
				}
				b.pass(time.Second)
				b.pass(from)
				b.Intercept = fail
				b.pass(localvolumetest.Delay)
				b.pass(localvolumetest.Delay)
				b.kept("its machine may be alive", claim)
				b.Intercept = nil
				b.pass(time.Minute)
				b.pass(time.Minute)
				b.expectDeleted("its machine is silent", claim)
			})
		}
	}
}
