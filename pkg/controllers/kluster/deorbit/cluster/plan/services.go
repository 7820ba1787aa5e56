// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// reasonIngressAddress is why an Ingress stays: its controller deletes the address with it, and knows no annotation that keeps it.
const reasonIngressAddress = "spec.deorbit.floatingIPs is Retain, and its controller deletes the floating IP of a deleted Ingress"

func kindOf(ingress bool) string {
	if ingress {
		return KindIngress
	}
	return KindService
}

// Services deletes the Services of type LoadBalancer that the cloud provider OpenStack serves, and the Ingresses of the Octavia
// ingress controller. It is over when all of them are being deleted.
func Services(w *inventory.World, work stage.Work) Plan {
	p := Record(w, work.Recorded)
	if p.retainServices(w, work.Policies); !deletes(work.Policies.LoadBalancers) {
		return p
	}
	recorded := serviceRecords(p.Seen, work.Recorded)
	for _, s := range w.Services {
		// One of another type has a load balancer that is cleaned up already. That is waited for later.
		if !s.LoadBalancer || s.Class != "" || s.Deleting() {
			continue
		}
		kind, resource := kindOf(s.Ingress), services
		if s.Ingress {
			resource = ingresses
		}
		switch {
		case s.Ingress && !deletes(work.Policies.FloatingIPs):
			p.retains(kind, s.Meta, "", reasonIngressAddress)
		case !s.Keep && !deletes(work.Policies.FloatingIPs):
			p.Steps = append(p.Steps, Step{
				Action: KeepFloatingIP, Resource: services, Kind: KindService, Object: s.Meta, Exact: true,
				Reason: "it is instructed to keep its floating IP first",
			})
		case !recorded[string(s.UID)]:
			p.remains(kind, s.Meta, "", reasonToRecord)
		default:
			p.deletes(resource, kind, s.Meta, "")
		}
	}
	return p
}

// Wait waits until the cluster has cleaned up after the deletions: for the volumes that are deleted with their claims, and for
// the Services that have load balancers.
func Wait(w *inventory.World, work stage.Work) Plan {
	p := Record(w, work.Recorded)
	if w.Listed.Volumes && w.Listed.Snapshots { // for which some volumes stay
		p.Listed = append(p.Listed, KindVolume)
	}
	if w.Listed.Services {
		p.Listed = append(p.Listed, KindService, KindIngress)
	}
	p.retainVolumes(w, work.Policies)
	p.retainServices(w, work.Policies)
	if deletes(work.Policies.PersistentVolumes) {
		p.waitForVolumes(w, work)
		if work.EndsInCluster() {
			p.waitForOthers(w, work.Policies)
		}
	}
	if deletes(work.Policies.LoadBalancers) {
		p.waitForServices(w, work)
	}
	return p
}

// waitForVolumes waits for the volumes that go, which those do not that have one of the kept snapshots.
func (p *Plan) waitForVolumes(w *inventory.World, work stage.Work) {
	kept := keptSnapshots(w, work.Policies)
	for _, v := range w.Volumes {
		// Kubernetes does not retry the deletion of a Failed volume: Verify finds its volume in OpenStack.
		isVerified := v.Phase == corev1.VolumeFailed && !work.EndsInCluster()
		if v.ID == "" || v.Policy() != string(corev1.PersistentVolumeReclaimDelete) || isVerified {
			continue
		}
		if content := kept[v.ID]; content != "" {
			why := "Cinder deletes no volume that has a snapshot"
			if v.Share {
				why = "Manila deletes no share that has a snapshot"
			}
			p.retains(KindVolume, v.Meta, v.ID, KindContent+" "+content+" of it stays, and "+why)
			continue
		}
		reason := fmt.Sprintf("it is %s, and its claim was %s", v.Phase, v.Claim.NamespacedName)
		if v.Deleting() {
			reason = waiting(v.Meta)
		}
		p.remains(KindVolume, v.Meta, v.ID, reason)
	}
}

// waitForOthers waits for the claims and the snapshots that an earlier stage left behind, where nothing else finds what they stand for.
func (p *Plan) waitForOthers(w *inventory.World, policies stage.Policies) {
	for _, claim := range w.OwnClaims() {
		p.remains(KindClaim, claim.Meta, claim.ID, standingReason(claim.Meta))
	}
	if !deletes(policies.Snapshots) {
		return
	}
	for _, s := range w.OwnSnapshots() {
		p.remains(KindSnapshot, s.Meta, "", standingReason(s.Meta))
	}
	for _, c := range w.OwnContents() {
		if c.Delete {
			p.remains(KindContent, c.Meta, c.Handle, standingReason(c.Meta))
		}
	}
	for _, s := range p.Seen.Snapshots {
		if w.Listed.Snapshots && !w.SnapshotsServed && !s.Gone && s.DeletionPolicy != keep {
			p.remains(KindContent, inventory.Meta{Name: s.Name}, s.ID, "the cluster has no API of snapshots any more: whether it was deleted is unknown")
		}
	}
}

// standingReason is why an object is still there.
func standingReason(object inventory.Meta) string {
	if object.Deleting() {
		return waiting(object)
	}
	return reasonNotDeleted
}

func (p *Plan) waitForServices(w *inventory.World, work stage.Work) {
	there := map[types.UID]bool{}
	for _, s := range w.Services {
		there[s.UID] = true
		switch {
		case s.Class != "":
		case s.Ingress && !deletes(work.Policies.FloatingIPs):
			p.retains(KindIngress, s.Meta, "", reasonIngressAddress)
		case s.Deleting(), s.LoadBalancer:
			p.remains(kindOf(s.Ingress), s.Meta, "", standingReason(s.Meta))
		default:
			p.remains(KindService, s.Meta, "", "its load balancer is not cleaned up: finalizer "+inventory.LoadBalancerFinalizer)
		}
	}
	// Without the finalizer a Service has been deleted before its load balancer is. Who was never seen with it, because it had been
	// deleted before this process began, counts as one without.
	end := work.Began.Add(work.Policies.ServiceGracePeriod)
	if !work.Now.Before(end) {
		return
	}
	for _, s := range work.Recorded.Services {
		if uid := types.UID(s.UID); !there[uid] && !w.Finalized[uid] {
			deleted := inventory.Meta{Namespace: s.Namespace, Name: s.Name}
			p.remains(kindOf(s.Ingress), deleted, "",
				"it has been deleted without finalizer "+inventory.LoadBalancerFinalizer+": its load balancer gets a grace period")
		}
	}
}

func (p *Plan) retainServices(w *inventory.World, policies stage.Policies) {
	for _, s := range w.Services {
		switch {
		case s.LoadBalancer && s.Class != "":
			p.retains(KindService, s.Meta, "", fmt.Sprintf("its loadBalancerClass %s is another provider's", s.Class))
		case s.LoadBalancer && !deletes(policies.LoadBalancers):
			p.retains(kindOf(s.Ingress), s.Meta, "", "spec.deorbit.loadBalancers is Retain")
		}
	}
}
