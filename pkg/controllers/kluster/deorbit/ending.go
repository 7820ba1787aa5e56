// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"fmt"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
)

// ending is how a Deorbit ended.
type ending string

const (
	endsClean ending = "clean"
	// endsCleanInCluster is the best that can be said of a cluster without OpenStack: the controllers in it deleted everything, and nobody
	// looked at what they did.
	endsCleanInCluster ending = "cleanInCluster"
	endsLeftovers      ending = "leftovers"
	endsSelfDestruct   ending = "self-destruct"
	endsDetached       ending = "detached"
)

// clusterKind represents everything in a cluster that could not be checked.
const clusterKind = "Cluster"

// end releases the Kluster. Failed is why the last check of OpenStack could not report what is left there.
func (p *step) end(failed *failure) {
	p.Remaining = slices.DeleteFunc(p.Remaining, cluster.IsFreeze) // nothing that the cluster made
	if !p.cloud {
		p.leaveUnproven()
	}
	if failed != nil {
		p.Remaining = append(slices.DeleteFunc(p.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.Kind == projectKind }),
			kubernikusv1.DeorbitObject{Kind: projectKind, ID: p.project,
				Reason: "it could not be checked, more may be left there: " + failed.message})
	}
	switch {
	case p.selfDestruct:
		p.action.ends = endsSelfDestruct
		p.report(true, eventSelfDestruct, "the annotation "+kubernikusv1.SelfDestructAnnotation+" ends it: what is left stays")
	case len(p.Remaining)+len(p.Undecided) > 0:
		p.action.ends = endsLeftovers
		if p.over() && len(p.Remaining) > 0 {
			after := fmt.Sprintf("%s after it began", p.timeout)
			if p.since(p.StartedAt) < p.timeout {
				after = fmt.Sprintf("%s after the machines of the cluster were deleted", p.verifyTimeout)
			}
			p.report(true, eventSelfDestruct, "it ends "+after+": what is left stays")
		}
	case !p.cloud:
		p.action.ends = endsCleanInCluster
	default:
		p.action.ends = endsClean
	}
}

// leaveUnproven leaves over what was in a cluster without OpenStack, and was not seen to go: nothing else can be asked about it.
func (p *step) leaveUnproven() {
	unread := cmp.Or(p.ClusterLost, p.ClusterRefused)
	if unread == "" {
		return
	}
	why := "it was not seen to be deleted, because the cluster could not be read to the end"
	for _, v := range p.SeenVolumes {
		p.leave(!v.Gone && v.ReclaimPolicy == string(kubernikusv1.DeletionPolicyDelete),
			kubernikusv1.DeorbitObject{Kind: plan.KindVolume, Name: v.Name, ID: v.ID, Reason: why})
	}
	for _, s := range p.SeenSnapshots {
		p.leave(!s.Gone && s.DeletionPolicy == string(kubernikusv1.DeletionPolicyDelete),
			kubernikusv1.DeorbitObject{Kind: plan.KindContent, Name: s.Name, ID: s.ID, Reason: why})
	}
	for _, s := range p.SeenServices {
		kind := plan.KindService
		if s.Ingress {
			kind = plan.KindIngress
		}
		p.leave(!s.Gone, kubernikusv1.DeorbitObject{Kind: kind, Namespace: s.Namespace, Name: s.Name, Reason: why})
	}
	p.leave(true, kubernikusv1.DeorbitObject{Kind: clusterKind, ID: p.ClusterID, Reason: "it could not be checked, more may be left: " + unread})
}

// leave leaves an object over that no list has, on purpose or not.
func (p *step) leave(left bool, object kubernikusv1.DeorbitObject) {
	is := func(o kubernikusv1.DeorbitObject) bool {
		return object.ID != "" && o.ID == object.ID || o.Kind == object.Kind && o.Namespace == object.Namespace && o.Name == object.Name
	}
	if left && !slices.ContainsFunc(slices.Concat(p.Remaining, p.Undecided, p.Retained), is) {
		p.Remaining = append(p.Remaining, object)
		sortObjects(p.Remaining)
	}
}
