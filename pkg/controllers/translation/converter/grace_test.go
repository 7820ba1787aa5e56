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
)

const grace = 5 * time.Minute

// losing is a Node with its network that lost its host-id.
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

// A Node without its host-id keeps its network for the grace period, which is reported immediately and once; what is on it stays
// for longer.
func TestNodeLosesItsHostID(t *testing.T) {
	for name, value := range map[string]*string{"gone": nil, "invalid": new("host-a"), "empty": new("")} {
		t.Run(name, func(t *testing.T) {
			w, _ := losing(t, value)
			if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
				t.Errorf("requeued after %v", result.RequeueAfter)
			}
			w.expectEvents("Warning " + convert.ReasonHostIDMissing + " annotation midonet.org/host-id of node a is ")
			if got := gauged(w.reconciler.ledger.blocked, convert.ReasonHostIDMissing); got != 1 {
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

// The grace period is for what another version wrote, too, and begins when the Node is seen with it: not when it was seen
// without a host-id and without a network.
func TestGraceForAnotherVersion(t *testing.T) {
	w, _ := losing(t, nil)
	former := w.one("default", "node.4.a").DeepCopy()
	w.remove(w.one("default", "node.4.a"))
	w.released(w.one("default", "node.4.a"))
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(2 * grace))
	former.Name, former.UID, former.ResourceVersion = "node.3.a", "", ""
	w.add(former)
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.expectRequests(nodeA, "get a", "delete node.3.a")
}

// A host-id that comes back ends the grace period; the next loss begins another.
func TestHostIDComesBack(t *testing.T) {
	w, node := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace - time.Second))
	change(w, node, func(n *corev1.Node) { n.Annotations = map[string]string{midonetv1.AnnotationHostID: hostA} })
	w.expectRequests(nodeA)
	if got := gauged(w.reconciler.ledger.blocked, convert.ReasonHostIDMissing); got != 0 {
		t.Errorf("%v blocked", got)
	}
	change(w, node, func(n *corev1.Node) { n.Annotations = nil })
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
}

// Another Node of the same name has a dedicated grace period.
func TestRecreatedNodeHasItsOwnGrace(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	if got := w.reconciler.losses.begin(nodeA, "another", w.clock.Now()); !got.Equal(w.clock.Now()) {
		t.Errorf("the loss of another node began at %v", got)
	}
}

// A restart begins the period again: what this process did not see itself is not counted.
func TestRestartStartsOver(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.reconciler.losses = losses{}
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
}

// The API server has the last word before a network is deleted.
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

// A deletion that is rejected is reported, also on the Node.
func TestRejectedRemoval(t *testing.T) {
	w, _ := losing(t, nil)
	w.expectRequests(nodeA)
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.reset()
	w.fault = func(int, string) error { return forbidden("node.4.a") }
	if result := w.expectRequests(nodeA, "get a", "delete node.4.a"); result.RequeueAfter != minPatience {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	if got := gauged(w.reconciler.ledger.blocked, reasonRefused); got != 1 {
		t.Errorf("%v rejected", got)
	}
	w.fault = nil
	w.expectRequests(nodeA, "get a", "delete node.4.a")
}

// What a Node waits for deletes nothing, unless it is the host-id; a Pod waits for its Node without a word.
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
	w.remove(node)
	w.expectRequests(podWeb)
	w.expectEvents()
	if got := gauged(w.reconciler.ledger.blocked, convert.ReasonNodeMissing); got != 1 {
		t.Errorf("%v pods wait", got)
	}
	if got := w.names("shop"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A Node that never had a network has none to lose. There is no word about it before the annotator had its time, but it
// is counted.
func TestNewNodeWaits(t *testing.T) {
	node := testNode("a")
	node.Annotations = nil
	w := newWorld(t, node)
	if result := w.expectRequests(nodeA); result.RequeueAfter != newcomerPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents()
	if got := gauged(w.reconciler.ledger.blocked, convert.ReasonHostIDMissing); got != 1 {
		t.Errorf("%v blocked", got)
	}
	w.clock.SetTime(w.clock.Now().Add(newcomerPeriod))
	if result := w.expectRequests(nodeA); result.RequeueAfter != 0 {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents("Warning " + convert.ReasonHostIDMissing)
	w.expectRequests(nodeA)
	w.expectEvents()
	w.remove(node)
	w.expectRequests(nodeA)
	if got := gauged(w.reconciler.ledger.blocked, convert.ReasonHostIDMissing); got != 0 {
		t.Errorf("%v blocked", got)
	}
}

// What has no translation is reported once for each change, and counted.
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
	if got := gauged(w.reconciler.ledger.skipped, convert.ReasonProtocolNotSupported); got != 4 {
		t.Errorf("%v ports counted", got)
	}
	change(w, service, func(s *corev1.Service) { s.Spec.ClusterIP = "fd00::1" })
	w.settle(front)
	w.expectEvents("Warning " + convert.ReasonIPv6NotSupported)
	if got := gauged(w.reconciler.ledger.skipped, convert.ReasonProtocolNotSupported); got != 0 {
		t.Errorf("%v ports counted", got)
	}
	w.remove(service)
	w.expectRequests(front)
	if got := gauged(w.reconciler.ledger.skipped, convert.ReasonIPv6NotSupported); got != 0 {
		t.Errorf("%v addresses counted", got)
	}
}
