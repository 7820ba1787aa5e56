// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// setReady sets the condition of a node, as its kubelet or the node controller does.
func (v *volumes) setReady(node *corev1.Node, status corev1.ConditionStatus) {
	v.t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"` + string(status) + `","lastTransitionTime":"2030-01-02T12:00:00Z"}]}}`
	if err := v.c.Status().Patch(v.t.Context(), node, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		v.t.Fatal(err)
	}
}

// testOutages checks that nodes which exist lose their claims if they are out of service, or unreachable for long, and that is enabled.
func testOutages(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	off, working, unreachable := v.node("off"), v.node("working"), v.node("unreachable")
	v.setReady(working, corev1.ConditionTrue)
	v.setReady(unreachable, corev1.ConditionUnknown)
	_, offClaim := v.bound("off", "off")
	_, workingClaim := v.bound("working", "working")
	_, unreachableClaim := v.bound("unreachable", "unreachable")
	v.clean("--out-of-service-nodes", "--unreachable-node-delay=2")
	patch := `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`
	if err := v.c.Patch(t.Context(), off, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	for claim, why := range map[*corev1.PersistentVolumeClaim]string{offClaim: "has the taint", unreachableClaim: "has not been ready for 2s"} {
		if event := v.event(claim, localvolume.EventScheduled); !strings.Contains(event.Message, why) {
			t.Errorf("the event of claim %s is %q, want one that contains %q", claim.Name, event.Message, why)
		}
	}
	v.absent(offClaim, unreachableClaim)
	v.stays("they exist", workingClaim, off, working, unreachable)
}
