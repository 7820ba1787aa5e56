// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Pods deletes the claims that Cinder backs, and then the pods that use them. It is over when all claims are being
// deleted and no pod on a node uses one. A pod that comes again does not keep it going: with a claim that is
// being deleted it is not scheduled, and without a node it does not hold the claim.
func Pods(w *inventory.World, work stage.Work) Plan { return claimsAndPods(w, work, false) }

// Claims does as Pods does, until the claims have been deleted.
func Claims(w *inventory.World, work stage.Work) Plan { return claimsAndPods(w, work, true) }

func claimsAndPods(w *inventory.World, work stage.Work, untilDeleted bool) Plan {
	p := Record(w, work.Recorded)
	if p.retainVolumes(w, work.Policies); !deletes(work.Policies.PersistentVolumes) {
		return p
	}
	recorded, users := volumeRecords(p.Seen, work.Recorded), newUsers(w)
	for _, claim := range w.OwnClaims() {
		switch {
		case claim.Deleting():
			users.of[claim.Key()] = going{since: claim.Deleted, owner: claim.Owner}
			if untilDeleted {
				p.remains(KindClaim, claim.Meta, claim.ID, waiting(claim.Meta))
			}
		case claim.ID != "" && !recorded[claim.ID]:
			p.remains(KindClaim, claim.Meta, claim.ID, reasonToRecord)
		default:
			p.deletes(claims, KindClaim, claim.Meta, claim.ID)
		}
	}
	for _, pod := range w.Pods {
		if since, ok := users.uses(pod); ok {
			p.pod(pod, since, w.Ready, work.Now)
		}
	}
	return p
}

// going is a claim that is being deleted, or already deleted while a volume remembers it.
type going struct {
	// since is zero when the claim has been deleted.
	since time.Time
	owner types.UID
}

type users struct {
	of map[types.NamespacedName]going
}

// newUsers knows the claims that have been deleted although their volumes are not: a user removed their protection, and their
// pods still use the volumes.
func newUsers(w *inventory.World) users {
	there := map[types.NamespacedName]bool{}
	for _, claim := range w.Claims {
		there[claim.Key()] = true
	}
	u := users{map[types.NamespacedName]going{}}
	for _, v := range w.Volumes {
		if v.ID != "" && v.Claimed() && !there[v.Claim.NamespacedName] {
			u.of[v.Claim.NamespacedName] = going{}
		}
	}
	return u
}

// uses reports whether a pod uses one of the claims, and since when that is being deleted.
func (u users) uses(pod inventory.Pod) (since time.Time, ok bool) {
	for _, use := range pod.Claims {
		claim, found := u.of[types.NamespacedName{Namespace: pod.Namespace, Name: use.Claim}]
		// A claim that the pod does not control has only the name of its ephemeral one.
		if found && (!use.Own || claim.since.IsZero() || claim.owner == pod.UID) {
			return claim.since, true
		}
	}
	return time.Time{}, false
}

// pod plans what becomes of a pod that uses a claim which is being deleted since then.
func (p *Plan) pod(pod inventory.Pod, since time.Time, ready map[string]bool, now time.Time) {
	onNode := pod.Node != ""
	switch {
	case pod.Mirror:
		if onNode {
			p.remains(KindPod, pod.Meta, "", fmt.Sprintf("it is a mirror pod and uses a claim: remove its manifest from node %s", pod.Node))
		}
	case !pod.Deleting():
		// One that came later and has no node is left alone: its owner would only make another one.
		if onNode || !pod.Created.After(since) {
			p.Steps = append(p.Steps, Step{Resource: pods, Kind: KindPod, Object: pod.Meta, Reason: reasonRequested})
		}
	case !onNode:
	case !ready[pod.Node] && !pod.Killed && now.After(pod.Deleted):
		p.Steps = append(p.Steps, Step{
			Action: Kill, Resource: pods, Kind: KindPod, Object: pod.Meta,
			Reason: fmt.Sprintf("node %s does not exist or is not ready, and its grace period is over", pod.Node),
		})
	default:
		p.remains(KindPod, pod.Meta, "", "on node "+pod.Node+": "+waiting(pod.Meta))
	}
}

func (p *Plan) retainVolumes(w *inventory.World, policies stage.Policies) {
	for _, v := range w.Volumes {
		switch {
		case v.ID == "":
		case !deletes(policies.PersistentVolumes):
			p.retains(KindVolume, v.Meta, v.ID, "spec.deorbit.persistentVolumes is Retain")
		case !v.Delete:
			p.retains(KindVolume, v.Meta, v.ID, "its reclaim policy is not Delete")
		}
	}
}
