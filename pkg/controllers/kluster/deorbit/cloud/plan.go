// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Kinds of objects in reports.
const (
	kindLoadBalancer  = "LoadBalancer"
	kindListener      = "Listener"
	kindPool          = "Pool"
	kindFloatingIP    = "FloatingIP"
	kindSecurityGroup = "SecurityGroup"
	kindSnapshot      = "Snapshot"
	kindVolume        = "Volume"
	kindRoute         = "Route"
	kindRouter        = "Router"
	kindService       = "Service"
	kindIngress       = "Ingress"
)

// reasonDeleting is why something remains that was deleted a moment ago.
const reasonDeleting = "being deleted"

// removal is something to delete, or tags to remove.
type removal struct {
	object kubernikusv1.DeorbitObject
	// before are the changes to other objects without which OpenStack would reject it, in their order.
	before []func(ctx context.Context, p Project) error
	// do sends the request to OpenStack.
	do func(ctx context.Context, p Project, id string) error
	// immediately reports that the object has been deleted when OpenStack accepts the request. Others still exist for a while.
	immediately bool
	// again reports that an earlier request failed: to repeat it is no progress.
	again bool
	// change reports that the object itself stays.
	change bool
}

// plan is what to do in a check, in its order, and what to report about the rest.
type plan struct {
	removals            []removal
	remaining, retained []kubernikusv1.DeorbitObject
}

// decision is what a plan is made from, and the plan.
type decision struct {
	plan
	identity
	project   string
	conflicts Conflicts
	// busy reports that load balancers of the cluster go, so that their security groups have to wait.
	busy bool
	stage.Work
	inventory
}

// decide makes the plan of one check of a project. It requests nothing.
func decide(project string, w stage.Work, conflicts Conflicts, found inventory) plan {
	d := &decision{identity: identityOf(w), project: project, conflicts: conflicts, Work: w, inventory: found}
	d.reportUnseen()
	d.addresses(d.balancers())
	d.groups()
	if !usable(d.cluster) {
		d.rejectByName()
	}
	d.services()
	d.volumesOf(d.snapshotsOf())
	if why := conflicts.Hold(w, project); why != "" {
		d.hold(why)
	}
	return d.plan
}

// reportUnseen leaves over what could not be checked. What a policy keeps would not have been deleted.
func (d *decision) reportUnseen() {
	p, u := d.Policies, d.unseen
	for _, kind := range []struct {
		name, why string
		deleted   bool
	}{
		{kindLoadBalancer, u.balancers, deletes(p.LoadBalancers)}, {kindFloatingIP, u.network, deletes(p.FloatingIPs)},
		{kindSecurityGroup, u.network, deletes(p.LoadBalancers)}, {kindVolume, u.volumes, deletes(p.PersistentVolumes)},
		{kindSnapshot, u.snapshots, deletes(p.PersistentVolumes) && deletes(p.Snapshots)},
	} {
		if kind.why != "" && kind.deleted {
			d.remain(kubernikusv1.DeorbitObject{Kind: kind.name}, "could not be checked: "+kind.why)
		}
	}
}

func (d *decision) remove(r removal) { d.removals = append(d.removals, r) }

// unchecked ends the reasons of what remains because it is unknown whether the cluster has it.
const unchecked = "the cluster could not be checked"

// IsUnchecked reports whether an object remains only because a cluster that was given up could not be checked. Neither time nor
// another check changes that: a user deletes it, or sets a name or a policy in the spec.
func IsUnchecked(o kubernikusv1.DeorbitObject) bool {
	return strings.HasPrefix(o.Reason, "never seen: "+unchecked) || strings.HasSuffix(o.Reason, ", and "+unchecked)
}

func (d *decision) remain(o kubernikusv1.DeorbitObject, reason string) {
	o.Reason = reason
	d.remaining = append(d.remaining, o)
}
func (d *decision) retain(o kubernikusv1.DeorbitObject, reason string) {
	o.Reason = reason
	d.retained = append(d.retained, o)
}

// hold makes all that would go remain, for one reason.
func (d *decision) hold(why string) {
	for i := range d.remaining {
		d.remaining[i].Reason = why
	}
	for _, r := range d.removals {
		d.remain(r.object, why)
	}
	d.removals = nil
}

// deletes reports whether a policy lets things go. What is not known keeps them.
func deletes(policy kubernikusv1.DeletionPolicy) bool {
	return policy == kubernikusv1.DeletionPolicyDelete
}

// isRetain is the reason of what a field of the spec keeps.
func isRetain(field string) string { return "spec.deorbit." + field + " is Retain" }
