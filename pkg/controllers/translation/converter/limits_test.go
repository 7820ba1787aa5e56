// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// TestServiceLimits checks that each limitation is reported once per Service, and counted while it exists.
func TestServiceLimits(t *testing.T) {
	service, slice := testService("front"), testSlice("front", "1", "10.1.0.7", "10.1.0.8")
	service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	w := newWorld(t, service, slice)
	w.settle(front)
	w.expectEvents("Warning ManyEndpointsNotSupported a port has more than one endpoint", "Warning SessionAffinityNotSupported spec.sessionAffinity is ClientIP")
	w.expectRequests(front)
	w.expectEvents()
	// Another endpoint more is no other cause.
	w.Add(testSlice("front", "2", "10.1.0.9"))
	w.settle(front)
	w.expectEvents()
	for _, reason := range []string{convert.ReasonManyEndpointsNotSupported, convert.ReasonSessionAffinityNotSupported} {
		if got := gauged(w.reconciler.memory.skipped, reason); got != 1 {
			t.Errorf("services with %s = %v, want 1", reason, got)
		}
	}
	change(w, service, func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityNone })
	w.expectRequests(front)
	if got := gauged(w.reconciler.memory.skipped, convert.ReasonSessionAffinityNotSupported); got != 0 {
		t.Errorf("services = %v, want 0", got)
	}
}

// TestRestartDoesNotRepeatReports checks that a restart writes no event about existing objects, which were reported before, but
// reports new ones.
func TestRestartDoesNotRepeatReports(t *testing.T) {
	service := testService("front")
	service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	other := testService("other")
	other.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	other.Spec.ClusterIP = "10.96.0.11"
	w := newWorld(t, service, other)
	w.settle(front)
	w.expectEvents("Warning SessionAffinityNotSupported")

	w.restart()
	known := w.reconciler.atStart(ofService)
	for _, object := range []*corev1.Service{service, other} {
		if !known.Create(event.CreateEvent{Object: object, IsInInitialList: true}) {
			t.Error("a service of the first list does not pass")
		}
	}
	w.expectRequests(front)
	w.expectEvents()
	if got := gauged(w.reconciler.memory.skipped, convert.ReasonSessionAffinityNotSupported); got != 1 {
		t.Errorf("services = %v, want 1", got)
	}
	change(w, service, func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.1"} })
	w.expectRequests(front)
	w.expectEvents("Warning ExternalIPsNotSupported")
	// It has no Translations yet, so it cannot have been reported.
	w.settle(unitOf(convert.KindService, other))
	w.expectEvents("Warning SessionAffinityNotSupported")
	// One that is created later is not of the first list.
	w.restart()
	w.reconciler.atStart(ofService).Create(event.CreateEvent{Object: service})
	w.expectRequests(front)
	w.expectEvents("Warning ExternalIPsNotSupported", "Warning SessionAffinityNotSupported")
}

// TestRestartReportsBlockedObjects checks that objects that block Translations, and what two Nodes share, are reported after each
// restart.
func TestRestartReportsBlockedObjects(t *testing.T) {
	w, node := losing(t, nil)
	w.reconciler.atStart(ofNode).Create(event.CreateEvent{Object: node, IsInInitialList: true})
	w.expectRequests(nodeA)
	w.expectEvents("Warning " + convert.ReasonHostIDMissing)

	w = newWorld(t, testNode("a"), testPod("web-0", "a"))
	foreign := made("pod.4.web-0", ownedBy("Pod", "another", "x"))
	foreign.ResourceVersion = ""
	w.Add(foreign)
	w.reconciler.memory.expect([]unit{podWeb})
	w.expectRequests(podWeb)
	w.expectEvents("Warning " + reasonNameTaken)

	w = newWorld(t, testNode("a"), testNode("b"))
	w.settle(nodeA)
	w.settle(unit{kind: convert.KindNode, name: "b"})
	w.expectEvents("Warning " + convert.ReasonPodCIDRShared)
	w.reconciler.memory.expect([]unit{nodeA})
	w.expectRequests(nodeA)
	w.expectEvents("Warning " + convert.ReasonPodCIDRShared)
}
