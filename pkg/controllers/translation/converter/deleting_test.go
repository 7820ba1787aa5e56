// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// TestOwnerBeingDeleted checks that an owner that is being deleted is converted until it has been deleted, because it may change
// while it waits for a finalizer, and its addresses may be assigned to other Pods.
func TestOwnerBeingDeleted(t *testing.T) {
	const cloud = "example.com/load-balancer"
	t.Run("service", func(t *testing.T) {
		service, slice := testService("front"), testSlice("front", "1", "10.1.0.7")
		service.Finalizers = []string{cloud}
		w := newWorld(t, service, slice)
		w.settle(front)
		w.Remove(service)
		w.expectRequests(front)
		change(w, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.1.0.8" })
		w.expectRequests(front, "create endpoints-port.4.front-web-10.96.0.10-10.1.0.8-8080-tcp",
			"delete endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp")
		// Objects that garbage collection deletes are left to it.
		before := w.names("shop")
		change(w, service, func(s *corev1.Service) { s.Finalizers = nil })
		w.expectRequests(front)
		if diff := cmp.Diff(before, w.names("shop")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("pod", func(t *testing.T) {
		pod := testPod("web-0", "a")
		pod.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
		pod.Annotations = map[string]string{midonetv1.AnnotationMACAddress: "0a:58:0a:01:00:05"}
		pod.Status.PodIP = "10.1.0.5"
		w := newWorld(t, testNode("a"), pod)
		w.settle(podWeb)
		w.Remove(pod)
		w.expectRequests(podWeb) // it runs until it has ended
		pod.Status.Phase = corev1.PodSucceeded
		w.report(pod)
		w.expectRequests(podWeb, "delete pod.4.web-0", "delete pod-mac.4.web-0-mac-0a580a010005", "delete pod-arp.4.web-0-ip-10.1.0.5-0a580a010005")
		w.expectRequests(podWeb)
	})
	t.Run("node", func(t *testing.T) {
		node := testNode("a")
		node.Finalizers = []string{"example.com/drain"}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		node.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.1"
		w := newWorld(t, node)
		w.settle(nodeA)
		w.Remove(node)
		// Nothing is created for it any more, and what a new Translation would replace stays as well.
		change(w, node, func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.2" })
		node.Status.Addresses[0].Address = "192.0.2.2"
		w.report(node)
		w.expectRequests(nodeA, "delete node-address.4.a-internalip-192.0.2.1")
		if result := w.expectRequests(nodeA); result.RequeueAfter != 0 {
			t.Errorf("requeued after %v", result.RequeueAfter)
		}
		change(w, w.one("default", "node.4.a"), func(t *midonetv1.Translation) { t.Resources = nil })
		w.expectRequests(nodeA, "patch node.4.a")
		former := w.one("default", "node.4.a").DeepCopy()
		former.Name, former.UID, former.ResourceVersion = "node.3.a", "", ""
		w.Add(former)
		w.expectRequests(nodeA)
		change(w, w.one("default", "node.4.a"), func(t *midonetv1.Translation) { t.Finalizers = nil })
		w.Remove(w.one("default", "node.4.a"))
		w.expectRequests(nodeA)
	})
}

// TestNodeWithoutHostIDBeingDeleted checks that a Node that is being deleted needs no host-id if it has no network, and keeps its
// network for the grace period otherwise.
func TestNodeWithoutHostIDBeingDeleted(t *testing.T) {
	node := testNode("a")
	node.Annotations, node.Finalizers = nil, []string{"example.com/drain"}
	w := newWorld(t, node)
	w.expectRequests(nodeA)
	w.Remove(node)
	w.clock.SetTime(w.clock.Now().Add(newcomerPeriod))
	if result := w.expectRequests(nodeA); result.RequeueAfter != 0 {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents()
	if got := gauged(w.reconciler.memory.blocked, convert.ReasonHostIDMissing); got != 0 {
		t.Errorf("%v blocked", got)
	}

	w, node = losing(t, nil)
	change(w, node, func(n *corev1.Node) { n.Finalizers = []string{"example.com/drain"} })
	w.Remove(node)
	if result := w.expectRequests(nodeA); result.RequeueAfter != grace {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.clock.SetTime(w.clock.Now().Add(grace))
	w.expectRequests(nodeA, "get a", "delete node.4.a")
}

// TestGarbageCollectionIsNotUndone checks that, while garbage collection deletes or orphans the Translations of an owner, none is
// created or adopted for it: the two would revert each other until the owner has been deleted.
func TestGarbageCollectionIsNotUndone(t *testing.T) {
	for _, finalizer := range []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents} {
		t.Run(finalizer, func(t *testing.T) {
			service, slice := testService("front"), testSlice("front", "1", "10.1.0.7")
			service.Finalizers = []string{finalizer, "example.com/load-balancer"}
			w := newWorld(t, service, slice)
			w.settle(front)
			w.Remove(service)
			endpoint := w.one("shop", "endpoints-port")
			w.released(endpoint)
			w.Remove(endpoint)
			change(w, w.one("shop", "service.4.front"), func(t *midonetv1.Translation) { t.OwnerReferences = nil })
			w.expectRequests(front)
			change(w, service, func(s *corev1.Service) { s.Finalizers = s.Finalizers[1:] })
			w.expectRequests(front, "create endpoints-port.4.front-web-10.96.0.10-10.1.0.7-8080-tcp", "patch service.4.front")
		})
	}
}

// TestAdoptionByAnOwnerBeingDeleted checks that an owner that is being deleted adopts Translations of an earlier one of its name,
// unless the API server's state is newer than the cache.
func TestAdoptionByAnOwnerBeingDeleted(t *testing.T) {
	pod := testPod("web-0", "a")
	pod.Finalizers = []string{"example.com/hold"}
	w := newWorld(t, testNode("a"), pod)
	w.settle(podWeb)
	change(w, w.one("shop", "pod.4.web-0"), ownedBy("Pod", "web-0", "earlier"))
	w.live = testPod("web-0", "a")
	w.live.SetDeletionTimestamp(new(metav1.Unix(1, 0)))
	if result := w.expectRequests(podWeb, "get web-0"); result.RequeueAfter != retryPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.Remove(pod)
	w.live = nil
	w.expectRequests(podWeb, "get web-0", "patch pod.4.web-0")
}

// TestTerminatingNamespace checks that, in a namespace that is being deleted, the controller waits for the deletion of the owner
// with backoff.
func TestTerminatingNamespace(t *testing.T) {
	w := newWorld(t, testNode("a"), testPod("web-0", "a"))
	w.Fault = func(int, kubetest.Write) error {
		err := apierrors.NewForbidden(midonetv1.Resource("translations"), "x", errors.New("the namespace is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	}
	if result := w.expectRequests(podWeb, "create pod.4.web-0"); result.RequeueAfter != waitPeriod {
		t.Errorf("requeued after %v", result.RequeueAfter)
	}
	w.expectEvents()
}
