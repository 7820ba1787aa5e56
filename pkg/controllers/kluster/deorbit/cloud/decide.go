// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
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
	kindShare         = "Share"
	kindShareSnapshot = "ShareSnapshot"
	KindRoute         = "Route"
	KindRouter        = "Router"
	kindService       = "Service"
	kindIngress       = "Ingress"
)

// reasonDeleting is the reason of an object whose deletion OpenStack has accepted and not completed.
const reasonDeleting = "being deleted"

// plan has the removals of a check in order, and the objects to report.
type plan struct {
	removals                       []removal
	remaining, retained, undecided []kubernikusv1.DeorbitObject
	// stuck are those of remaining that only a user changes.
	stuck []kubernikusv1.DeorbitObject
}

type decision struct {
	plan
	identity
	project   string
	conflicts Conflicts
	// busy is true if load balancers of the cluster are being deleted, so that their security groups have to wait.
	busy bool
	stage.Work
	inventory
}

// decide returns the plan of one check of a project. It sends no requests.
func decide(project string, w stage.Work, conflicts Conflicts, found inventory) plan {
	d := &decision{identity: identityOf(w), project: project, conflicts: conflicts, Work: w, inventory: found}
	d.reportUnseen()
	d.addresses(d.balancers())
	d.groups()
	d.services()
	if !clusterid.Usable(d.cluster) && !d.unborn() {
		d.rejectByName()
	}
	d.volumesOf(d.snapshotsOf())
	d.sharesOf(d.shareSnapshotsOf())
	if reason := conflicts.Hold(w, project); reason != "" {
		d.hold(reason)
	}
	return d.plan
}

// unborn reports whether nothing ever ran in the cluster: nothing that only may be the cluster's is.
func (d *decision) unborn() bool { return d.Kluster.NeverCameUp() && d.ClusterLost == "" }

// dismantled reports whether Cluster API has deleted the machines of the cluster, so that no object exists in it any more.
func (d *decision) dismantled() bool { return d.Kluster.MachinesOf() == kubernikusv1.MachinesDeleted }

// reportUnseen reports the kinds that could not be checked as remaining, unless a policy retains them.
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
			d.stick(kubernikusv1.DeorbitObject{Kind: kind.name}, "could not be checked: "+kind.why)
		}
	}
}

func (d *decision) remove(r removal) { d.removals = append(d.removals, r) }

// unchecked ends the reasons of what remains because it is unknown whether the cluster has it.
const unchecked = "the cluster could not be checked"

// waiting begins the reasons of what waits for something else that remains.
const waiting = "waits for "

// IsWaiting reports whether an object remains only because another one does.
func IsWaiting(o kubernikusv1.DeorbitObject) bool { return strings.HasPrefix(o.Reason, waiting) }

func (d *decision) remain(o kubernikusv1.DeorbitObject, reason string) {
	o.Reason = reason
	d.remaining = append(d.remaining, o)
}

// stick leaves an object until a user acts: neither time nor another check changes that.
func (d *decision) stick(o kubernikusv1.DeorbitObject, reason string) {
	d.remain(o, reason)
	d.stuck = append(d.stuck, d.remaining[len(d.remaining)-1])
}

// stand leaves an object that the cluster keeps. When the machines of the cluster have been deleted, what it rejected, and what a finalizer
// held, is not deleted either, and nothing waits for it.
func (d *decision) stand(o kubernikusv1.DeorbitObject, reason string) {
	if d.dismantled() {
		d.undecide(o, reason)
		return
	}
	d.stick(o, reason)
}

func (d *decision) retain(o kubernikusv1.DeorbitObject, reason string) {
	o.Reason = reason
	d.retained = append(d.retained, o)
}

// undecide leaves an object that no user requested to retain: it is left over, and no check changes that.
func (d *decision) undecide(o kubernikusv1.DeorbitObject, reason string) {
	o.Reason = reason
	d.undecided = append(d.undecided, o)
}

// hold replaces all removals by remaining objects, for one reason.
func (d *decision) hold(reason string) {
	for i := range d.remaining {
		d.remaining[i].Reason = reason
	}
	for _, r := range d.removals {
		d.remain(r.object, reason)
	}
	d.removals, d.stuck = nil, nil
}

// deletes reports whether a policy deletes objects. Unknown values retain them.
func deletes(policy kubernikusv1.DeletionPolicy) bool {
	return policy == kubernikusv1.DeletionPolicyDelete
}

// isRetain returns the reason of an object that a field of the spec retains.
func isRetain(field string) string { return "spec.deorbit." + field + " is Retain" }
