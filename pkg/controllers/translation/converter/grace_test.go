// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const grace = 5 * time.Minute

// losing returns a Node with its network that lost its host-id.
func losing(t *testing.T, value *string) (*world, *corev1.Node) {
	t.Helper()
	node := testNode("a")
	w := newWorld(t, node, testPod("web-0", "a"))
	w.settle(nodeA)
	w.settle(podWeb)
	change(w, node, func(n *corev1.Node) {
		delete(n.Annotations, midonetv1.AnnotationHostID)
		if value != nil {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, midonetv1.AnnotationHostID, *value)
		}
	})
	return w, node
}

// TestNodeLosesItsHostID checks that a Node without its host-id keeps its network for the grace period, which is reported once, and
// that its dependents are retained longer.
func TestNodeLosesItsHostID(t *testing.T) {
	for name, value := range map[string]*string{"gone": nil, "invalid": new("host-a"), "empty": new("")} {
		t.Run(name, func(t *testing.T) {
			w, _ := losing(t, value)
			if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
				t.Errorf("requeued after %v", result.RequeueAfter)
			}
			w.expectEvents("Warning " + convert.ReasonHostIDMissing + " annotation midonet.org/host-id of node a is ")
			if got := gauged(w.reconciler.memory.blocked, convert.ReasonHostIDMissing); got != 1 {
				t.Errorf("%v blocked", got)
			}
			w.clock.SetTime(w.clock.Now().Add(grace - time.Second))
			if result := w.expectRequests(nodeA); result.RequeueAfter != time.Second {
				t.Errorf("requeued after %v", result.RequeueAfter)
			}
			w.expectRequests(podWeb)
			w.expectEvents()
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			w.expectRequests(nodeA, "get a", "delete node.4.a")
			w.expectEvents("Warning " + eventRemoved + " the node has no host-id for 5m0s: its 1 translations are deleted")
			w.expectRequests(nodeA)
			w.expectRequests(podWeb)
			if got := w.names("shop"); len(got) != 1 || got[0] != "pod.4.web-0" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestGraceForAnotherVersion checks that the grace period applies to Translations of another version as well, and begins when the
// Node is observed with them.
func TestGraceForAnotherVersion(t *testing.T) {
	w, _ := losing(t, nil)
	former := w.one("default", "node.4.a").DeepCopy()
	w.Remove(w.one("default", "node.4.a"))
	w.released(w.one("default", "node.4.a"))
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(2 * grace))
	former.Name, former.UID, former.ResourceVersion = "node.3.a", "", ""
	w.Add(former)
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.expectRequests(nodeA, "get a", "delete node.3.a")
}

// TestHostIDComesBack checks that a restored host-id ends the grace period, and that the next loss starts another one.
func TestHostIDComesBack(t *testing.T) {
	w, node := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace - time.Second))
	change(w, node, func(n *corev1.Node) { n.Annotations = map[string]string{midonetv1.AnnotationHostID: hostA} })
	w.expectRequests(nodeA)
	if got := gauged(w.reconciler.memory.blocked, convert.ReasonHostIDMissing); got != 0 {
		t.Errorf("%v blocked", got)
	}
	change(w, node, func(n *corev1.Node) { n.Annotations = nil })
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
}

// TestRecreatedNodeHasItsOwnGrace checks that another Node of the same name has its own grace period.
func TestRecreatedNodeHasItsOwnGrace(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	if got := w.reconciler.memory.lost(nodeA, "another", w.clock.Now()); !got.Equal(w.clock.Now()) {
		t.Errorf("the loss of another node began at %v", got)
	}
}

// TestRestartStartsOver checks that a restart starts the grace period again, because only the process's own observations count.
func TestRestartStartsOver(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.reconciler.memory.losses = map[unit]loss{}
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
}

// TestLiveNodeIsSpared checks that the live state of the Node decides before its network is deleted.
func TestLiveNodeIsSpared(t *testing.T) {
	for name, live := range map[string]metav1.ObjectMeta{
		"has a host-id": {UID: "node-a", Annotations: map[string]string{midonetv1.AnnotationHostID: hostA}},
		"is another":    {UID: "node-anew"},
		"is going":      {UID: "node-a", DeletionTimestamp: new(metav1.Unix(1, 0))},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := losing(t, nil)
			w.expectRequests(nodeA)
			w.clock.SetTime(w.clock.Now().Add(grace))
			w.live = &corev1.Node{ObjectMeta: live}
			if result := w.expectRequests(nodeA, "get a"); result.RequeueAfter != retryPeriod {
				t.Errorf("requeued after %v", result.RequeueAfter)
			}
		})
	}
}

// TestRejectedRemoval checks that a rejected deletion is reported, also on the Node.
func TestRejectedRemoval(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.reset()
	w.Fault = func(int, kubetest.Write) error { return forbidden("node.4.a") }
	if result := w.expectRequests(nodeA, "get a", "delete node.4.a"); result.RequeueAfter != minPatience {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	if got := gauged(w.reconciler.memory.blocked, reasonRefused); got != 1 {
		t.Errorf("%v rejected", got)
	}
	w.Fault = nil
	w.expectRequests(nodeA, "get a", "delete node.4.a")
}

// TestWaiting checks that what a Node waits for causes no deletion, except for the host-id, and that a Pod waits for its Node
// without an event.
func TestWaiting(t *testing.T) {
	node := testNode("a")
	w := newWorld(t, node, testPod("web-0", "a"))
	w.settle(nodeA)
	w.settle(podWeb)
	change(w, node, func(n *corev1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil })
	w.expectRequests(nodeA)
	w.expectEvents("Warning " + convert.ReasonPodCIDRMissing)
	w.clock.SetTime(w.clock.Now().Add(100 * grace))
	w.expectRequests(nodeA)
	w.Remove(node)
	w.expectRequests(podWeb)
	w.expectEvents()
	if got := gauged(w.reconciler.memory.blocked, convert.ReasonNodeMissing); got != 1 {
		t.Errorf("%v pods wait", got)
	}
	if got := w.names("shop"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestNewNodeWaits checks that a Node that never had a network has no grace period. It is counted immediately, and reported only
// after the annotator had time to write.
func TestNewNodeWaits(t *testing.T) {
	node := testNode("a")
	node.Annotations = nil
	w := newWorld(t, node)
	if result := w.expectRequests(nodeA); result.RequeueAfter != newcomerPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents()
	if got := gauged(w.reconciler.memory.blocked, convert.ReasonHostIDMissing); got != 1 {
		t.Errorf("%v blocked", got)
	}
	w.clock.SetTime(w.clock.Now().Add(newcomerPeriod))
	if result := w.expectRequests(nodeA); result.RequeueAfter != 0 {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents("Warning " + convert.ReasonHostIDMissing)
	w.expectRequests(nodeA)
	w.expectEvents()
	w.Remove(node)
	w.expectRequests(nodeA)
	if got := gauged(w.reconciler.memory.blocked, convert.ReasonHostIDMissing); got != 0 {
		t.Errorf("%v blocked", got)
	}
}

// TestSkipped checks that an object without a translation is reported once per change, and counted.
func TestSkipped(t *testing.T) {
	service := testService("front")
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "sig", Protocol: corev1.ProtocolSCTP, Port: 99})
	w := newWorld(t, service)
	w.settle(front)
	w.expectEvents("Warning " + convert.ReasonProtocolNotSupported + " port 99 has protocol SCTP")
	w.expectRequests(front)
	w.expectEvents()
	change(w, service, func(s *corev1.Service) {
		for i := range 3 {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("sig", i), Protocol: corev1.ProtocolSCTP, Port: int32(100 + i)})
		}
	})
	w.expectRequests(front)
	w.expectEvents("Warning " + convert.ReasonProtocolNotSupported + " port 100 has protocol SCTP: MidoNet translates TCP and UDP only (and 2 more)")
	if got := gauged(w.reconciler.memory.skipped, convert.ReasonProtocolNotSupported); got != 4 {
		t.Errorf("%v ports counted", got)
	}
	change(w, service, func(s *corev1.Service) { s.Spec.ClusterIP = "fd00::1" })
	w.settle(front)
	w.expectEvents("Warning " + convert.ReasonIPv6NotSupported)
	if got := gauged(w.reconciler.memory.skipped, convert.ReasonProtocolNotSupported); got != 0 {
		t.Errorf("%v ports counted", got)
	}
	w.Remove(service)
	w.expectRequests(front)
	if got := gauged(w.reconciler.memory.skipped, convert.ReasonIPv6NotSupported); got != 0 {
		t.Errorf("%v addresses counted", got)
	}
}
