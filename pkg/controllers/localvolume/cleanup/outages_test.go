// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

const unreachableDelay = 5 * time.Minute

func outages(c *configv1alpha1.LocalVolumeConfiguration) {
	c.OutOfServiceNodes, c.UnreachableNodeDelay = new(true), &metav1.Duration{Duration: unreachableDelay}
}

func unknownAt(b *bench) func(*corev1.Node) {
	return localvolumetest.Ready(corev1.ConditionUnknown, b.Clock.Now())
}

// TestOutOfService checks that a node with the taint is lost, by the same rules as one that was deleted, and only if that is enabled.
func TestOutOfService(t *testing.T) {
	b := newBench(t, outages, "a", "b")
	_, claim := b.Bind("c", "a")
	b.ChangeNode("a", localvolumetest.Taint(true))
	b.pass(time.Second)
	if events := b.Events(); !has(events, "Warning ReferencedNodeDeleted c: Node a has the taint node.kubernetes.io/out-of-service, and", "unless the node comes back") {
		t.Errorf("events %v", events)
	}
	b.pass(localvolumetest.Delay / 2)
	b.ChangeNode("a", func(node *corev1.Node) { node.Labels["other"] = "label" })
	b.pass(localvolumetest.Delay/2 - 2*time.Second)
	b.kept("the delay is not over", claim)
	b.pass(2 * time.Second)
	b.expectDeleted("its node is out of service", claim)

	off := newBench(t, nil, "a", "b")
	_, claim = off.Bind("c", "a")
	off.ChangeNode("a", localvolumetest.Taint(true))
	off.ChangeNode("a", unknownAt(off))
	off.pass(time.Hour)
	off.pass(time.Hour)
	off.kept("that is not enabled", claim)
}

// TestUnreachable checks that a node that is not ready is lost after its delay, and that the delay of claims follows.
func TestUnreachable(t *testing.T) {
	b := newBench(t, outages, "a", "b")
	_, claim := b.Bind("c", "a")
	b.ChangeNode("a", unknownAt(b))
	if next := b.pass(time.Second); next <= 0 || next > unreachableDelay {
		t.Errorf("the next reconciliation is after %s, want one before the node counts as lost", next)
	}
	b.pass(unreachableDelay)
	b.pass(localvolumetest.Delay - 10*time.Second)
	b.kept("the delay is not over", claim)
	b.pass(20 * time.Second)
	b.expectDeleted("its node is unreachable", claim)
}

// TestOutageEnds checks that a node that works again keeps its claims, when an event reports it, and when only a live read does.
func TestOutageEnds(t *testing.T) {
	for name, test := range map[string]struct {
		lostAfter  time.Duration
		begin, end func(*bench) func(*corev1.Node)
	}{
		"taint": {0, func(*bench) func(*corev1.Node) { return localvolumetest.Taint(true) },
			func(*bench) func(*corev1.Node) { return localvolumetest.Taint(false) }},
		"unreachable":                         {unreachableDelay, unknownAt, func(b *bench) func(*corev1.Node) { return localvolumetest.Ready(corev1.ConditionTrue, b.Clock.Now()) }},
		"unreachable, ready, and unreachable": {unreachableDelay, unknownAt, unknownAt},
	} {
		for how, event := range map[string]bool{"event": true, "live read": false} {
			t.Run(name+", "+how, func(t *testing.T) {
				b := newBench(t, outages, "a", "b")
				_, claim := b.Bind("c", "a")
				b.ChangeNode("a", test.begin(b))
				b.Sleep(test.lostAfter)
				b.pass(0)
				b.pass(localvolumetest.Delay - time.Second)
				node := b.EditNode("a", test.end(b))
				if event {
					b.Site.Inventory.SetNode(node)
				}
				b.pass(2 * time.Second)
				b.kept("its node works again", claim)
			})
		}
	}
}

// TestOutageUnobserved checks that the delay of a node that is not ready counts only what this process observed.
func TestOutageUnobserved(t *testing.T) {
	for name, away := range map[string]func(*bench){
		"restart": func(b *bench) { b.Restart(outages); b.r = newReconciler(b.Site) },
		"stopped": func(b *bench) {
			b.Clock.Step(localvolume.Lease)
			b.Site.Beat(b.T.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, outages, "a", "b")
			_, claim := b.Bind("c", "a")
			b.ChangeNode("a", unknownAt(b))
			b.pass(time.Second)
			b.pass(unreachableDelay + localvolumetest.Delay/2)
			away(b)
			b.pass(time.Second)
			b.pass(unreachableDelay - 2*time.Second)
			b.kept("its node counts as lost no more", claim)
			b.pass(2 * time.Second)
			b.pass(localvolumetest.Delay + time.Second)
			b.expectDeleted("its node was unreachable for the whole delay again", claim)
		})
	}
}

// TestAllUnreachable checks that nothing is deleted when no node that is ready is left, and that those which were deleted, or are out of
// service, are no such case.
func TestAllUnreachable(t *testing.T) {
	for name, test := range map[string]struct {
		nodes  []string
		begin  func(*bench) func(*corev1.Node)
		braked bool
	}{
		"one of two":                {[]string{"a"}, unknownAt, false},
		"both, another one exists":  {[]string{"a", "b"}, unknownAt, true},
		"both are out of service":   {[]string{"a", "b"}, func(*bench) func(*corev1.Node) { return localvolumetest.Taint(true) }, false},
		"every node of the cluster": {[]string{"a", "b", "other"}, unknownAt, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, outages, "a", "b", "other")
			var claims []client.Object
			for _, node := range []string{"a", "b"} {
				_, claim := b.Bind("c-"+node, node)
				claims = append(claims, claim)
			}
			for _, node := range test.nodes {
				b.ChangeNode(node, test.begin(b))
			}
			b.pass(unreachableDelay)
			b.pass(localvolumetest.Delay + time.Second)
			left := 0
			for _, claim := range claims {
				if b.Exists(claim) {
					left++
				}
			}
			if want := len(claims); test.braked != (left == want) {
				t.Errorf("%d claims are left, braked %t", left, test.braked)
			}
			if events := fmt.Sprint(b.Events()); test.braked != has([]string{events}, "", "TooManyNodesMissing") {
				t.Errorf("events %s", events)
			}
		})
	}
}
