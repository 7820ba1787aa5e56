// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// TestIngresses checks that Ingresses of the Octavia ingress controller are recorded, deleted and waited for like Services.
func TestIngresses(t *testing.T) {
	all := kubernikusv1.DeletionPolicyDelete
	ingress := inventory.Service{Meta: inventory.Meta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7"}, Ingress: true, LoadBalancer: true, Address: "1.2.3.4"}
	world := &inventory.World{Services: []inventory.Service{ingress}, Listed: inventory.Listed{Services: true}}
	work := stage.Work{Policies: stage.Policies{LoadBalancers: all, FloatingIPs: all, ServiceGracePeriod: time.Minute}}
	first := Services(world, work)
	if len(first.Steps) != 0 || len(first.Remaining) != 1 || first.Remaining[0].Kind != KindIngress || first.Remaining[0].Reason != reasonToRecord {
		t.Fatalf("before it is recorded: %+v", first)
	}
	work.Recorded = first.Seen
	if s := work.Recorded.Services; len(s) != 1 || !s[0].Ingress || s[0].Standing != kubernikusv1.StandingPresent {
		t.Fatalf("recorded %+v", s)
	}
	second := Services(world, work)
	if len(second.Steps) != 1 || second.Steps[0].Kind != KindIngress || second.Steps[0].Resource != ingresses || !second.Steps[0].Exact {
		t.Errorf("steps = %+v, want the deletion of the Ingress", second.Steps)
	}
	Reject(&work.Recorded, second.Steps[0])
	if work.Recorded.Services[0].Standing != kubernikusv1.StandingRefused {
		t.Errorf("rejected, recorded %+v", work.Recorded.Services)
	}
	// Its controller has no finalizer, so that it gets a grace period.
	deleted := &inventory.World{Listed: inventory.Listed{Services: true}}
	if p := Wait(deleted, work); len(p.Remaining) != 1 || p.Remaining[0].Kind != KindIngress || !p.Seen.Services[0].Gone {
		t.Errorf("deleted: %+v", p.Report)
	}
	// Nothing keeps the address of an Ingress that is deleted.
	work.Policies.FloatingIPs = kubernikusv1.DeletionPolicyRetain
	kept := Services(world, work)
	if len(kept.Steps) != 0 || len(kept.Remaining) != 0 || !slices.ContainsFunc(kept.Retained, func(o kubernikusv1.DeorbitObject) bool { return o.Reason == reasonIngressAddress }) {
		t.Errorf("addresses stay: %+v", kept)
	}
}
