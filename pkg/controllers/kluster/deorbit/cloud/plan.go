// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"slices"
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
)

// reasonDeleting is why something remains that was deleted a moment ago.
const reasonDeleting = "being deleted"

// removal is something to delete, or tags to take off.
type removal struct {
	object kubernikusv1.DeorbitObject
	// do asks OpenStack for it.
	do func(ctx context.Context, p Project, id string) error
	// atOnce says that the object is gone when OpenStack says yes. Others go on for a while.
	atOnce bool
	// again says that OpenStack was asked before and failed: it is no progress that it is asked again.
	again bool
	// change says that the object itself stays.
	change bool
}

// plan is what to do in a look, in its order, and what to say of the rest.
type plan struct {
	removals            []removal
	remaining, retained []kubernikusv1.DeorbitObject
}

// decision is what a plan is made from, and the plan.
type decision struct {
	plan
	project   string
	cluster   string
	tag       string
	conflicts Conflicts
	stage.Work
	inventory
}

// decide makes the plan of one look at a project. It asks for nothing.
func decide(project string, w stage.Work, conflicts Conflicts, found inventory) plan {
	d := &decision{project: project, cluster: w.Kluster.ClusterName(), tag: w.Kluster.CSIClusterID(), conflicts: conflicts, Work: w, inventory: found}
	if usable(d.cluster) {
		d.addresses(d.balancers())
		d.groups()
	} else {
		d.refuseByName()
	}
	d.volumesOf(d.snapshotsOf())
	if why := conflicts.Why(project); why != "" {
		d.hold(why)
	}
	return d.plan
}

func (d *decision) remove(r removal) { d.removals = append(d.removals, r) }
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

// deletes says whether a policy lets things go. What is not known keeps them.
func deletes(policy kubernikusv1.DeletionPolicy) bool {
	return policy == kubernikusv1.DeletionPolicyDelete
}

// isRetain is the reason of what a field of the spec keeps.
func isRetain(field string) string { return "spec.deorbit." + field + " is Retain" }

// refuseByName says of each kind that is found by the name of the cluster that nothing is deleted by that name. Where
// the name is the shared one, that is said only if there is something that it would be said of; where it is empty,
// whatever any cluster made may be meant.
func (d *decision) refuseByName() {
	name, empty := strings.TrimSpace(d.cluster), strings.TrimSpace(d.cluster) == ""
	reason := "clusterName is " + name + ", which many clusters share: nothing is deleted by it"
	if empty {
		reason = "clusterName is empty: nothing is deleted by it"
	}
	matches := func(found origin) bool { return found == ours || found == unclear || empty && found == another }
	for _, b := range d.loadBalancers {
		if b.ProjectID == d.project && (matches(originOf(b.Name, name)) || slices.ContainsFunc(b.Tags, func(t string) bool { return matches(originOf(t, name)) })) {
			d.retain(kubernikusv1.DeorbitObject{Kind: kindLoadBalancer}, reason)
			break
		}
	}
	for _, f := range d.floatingIPs {
		_, exact := holderOf(f.Description, name)
		if f.ProjectID == d.project && (exact || empty && (strings.HasPrefix(f.Description, serviceIPHead) || strings.HasPrefix(f.Description, ingressIPHead))) {
			d.retain(kubernikusv1.DeorbitObject{Kind: kindFloatingIP}, reason)
			break
		}
	}
	for _, g := range d.securityGroups {
		_, exact := groupOf(g.Name, g.Description, name)
		if g.ProjectID == d.project && (exact || empty && strings.HasPrefix(g.Name, groupPrefix) && strings.Contains(g.Description, groupClusterMark)) {
			d.retain(kubernikusv1.DeorbitObject{Kind: kindSecurityGroup}, reason)
			break
		}
	}
}
