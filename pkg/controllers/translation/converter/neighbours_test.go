// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// TestNodesShare checks that two Nodes with the same range or address both get an event, and that both reports end together.
func TestNodesShare(t *testing.T) {
	node := func(name, cidr, address string) *corev1.Node {
		node := testNode(name)
		node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, nil
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		return node
	}
	nodeB, nodeC := unit{kind: convert.KindNode, name: "b"}, unit{kind: convert.KindNode, name: "c"}
	a, b := node("a", "10.1.0.0/24", "192.0.2.1"), node("b", "10.1.0.0/24", "192.0.2.1")
	b.Annotations = nil // it has no network yet
	w := newWorld(t, a, b, node("c", "10.1.2.0/24", "192.0.2.3"))
	var again []unit
	w.reconciler.enqueue = func(u unit) { again = append(again, u) }
	expectAgain := func(want ...unit) {
		t.Helper()
		if diff := cmp.Diff(want, again, cmp.AllowUnexported(unit{})); diff != "" {
			t.Errorf("nodes to reconcile again: %s", diff)
		}
		again = nil
	}
	expectSharing := func(want float64) {
		t.Helper()
		for _, reason := range []string{convert.ReasonPodCIDRShared, convert.ReasonNodeAddressShared} {
			if got := gauged(w.reconciler.memory.sharing, reason); got != want {
				t.Errorf("nodes with %s = %v, want %v", reason, got, want)
			}
		}
	}
	w.settle(nodeA)
	w.settle(nodeC)
	w.expectEvents()
	expectAgain()

	w.expectRequests(nodeB)
	w.expectEvents("Warning NodeAddressShared node a has the address 192.0.2.1 as well", "Warning PodCIDRShared the spec.podCIDR 10.1.0.0/24 overlaps with that of node a")
	expectAgain(nodeA)
	w.expectRequests(nodeA)
	w.expectEvents("Warning NodeAddressShared node b has", "Warning PodCIDRShared the spec.podCIDR")
	expectSharing(2)
	w.expectRequests(nodeA)
	w.expectRequests(nodeB)
	w.expectEvents()
	expectAgain()

	change(w, b, func(n *corev1.Node) { n.Spec.PodCIDR = "10.1.1.0/24" })
	b.Status.Addresses[0].Address = "192.0.2.2"
	w.report(b)
	w.expectRequests(nodeB)
	expectAgain(nodeA)
	w.expectRequests(nodeA)
	expectSharing(0)
	w.expectEvents()

	change(w, b, func(n *corev1.Node) { n.Spec.PodCIDR = "10.1.2.0/23" })
	w.expectRequests(nodeB)
	expectAgain(nodeC)
	w.settle(nodeC)
	w.expectEvents("Warning PodCIDRShared", "Warning PodCIDRShared")
	w.Remove(b)
	w.expectRequests(nodeB)
	expectAgain(nodeC)
	w.expectRequests(nodeC)
	expectSharing(0)
}

// TestQueueIsUsed checks that requests of a reconciliation are added to the queue of the controller.
func TestQueueIsUsed(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[unit]())
	defer queue.ShutDown()
	w := newWorld(t)
	if err := w.reconciler.useQueue(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.reconciler.enqueue(nodeA)
	if got := queue.Len(); got != 2 {
		t.Fatalf("queue has %d owners, want 2", got)
	}
	for _, want := range []unit{{}, nodeA} {
		if got, _ := queue.Get(); got != want {
			t.Errorf("queue has %v, want %v", got, want)
		}
	}
}
