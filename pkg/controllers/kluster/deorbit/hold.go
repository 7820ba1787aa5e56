// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Several objects may lead to one cluster: two Klusters whose Secrets are copies, or a Kluster and a DiscoveryBackend. The cluster is torn
// down only when all of them agree: each Kluster of it is being deleted, and then one of them does the work before the next one does. A
// Kluster that may lead to it, and whose cluster is unknown, counts until a user confirms that it leads to another one.

// reasonTwinFirst means that another Kluster of the same cluster is being deleted first.
const reasonTwinFirst = "SameClusterFirst"

// isHold reports whether a reason of the condition Deorbited is that of a hold.
func isHold(reason string) bool {
	return slices.Contains([]string{
		kubernikusv1.ReasonSameCluster, kubernikusv1.ReasonIdentityUnknown, kubernikusv1.ReasonClusterChanged, reasonTwinFirst,
	}, reason)
}

// hold is why nothing may be done to a cluster, as long as other objects lead to it.
type hold struct {
	reason, message string
	// thaws is true if the cluster is still used, so that a freeze is lifted.
	thaws bool
	// since is when the hold began. The clocks of the Deorbit stand still from then on.
	since time.Time
}

// identity is what is known of the cluster that a Deorbit would change: its id, "" while unknown, and the address of its API server.
type identity struct{ id, server string }

// holdOf returns why a check may change nothing, nil when it may. The others are all Klusters that lead to the cluster, or whose cluster is
// unknown; the backends are those that copied it, or use the Secret.
func holdOf(w stage.Work, at identity, others []kubernikusv1.Kluster, backends []gimbalv1.DiscoveryBackend) *hold {
	k := w.Kluster
	var keepers, seniors, doubtful, doubts []string
	announcers := []*kubernikusv1.Kluster{k}
	for i := range others {
		other := &others[i]
		if other.UID == k.UID || leaves(other) {
			continue
		}
		name := other.Namespace + "/" + other.Name
		switch clusterid.Compare(clusterid.OfUID(at.id), clusterid.OfUID(other.ClusterID())) {
		case clusterid.Same:
			announcers = append(announcers, other)
			switch {
			case clusterid.Stays(other):
				keepers = append(keepers, "Kluster "+name)
			case isOlder(other, k):
				seniors = append(seniors, name)
			}
		case clusterid.Unknown:
			if why := mayBeSame(w, at, other); why != "" && clusterid.Stays(other) && !k.AcceptsUnknownIdentity(name) {
				doubtful, doubts = append(doubtful, name), append(doubts, "Kluster "+name+", which "+why)
			}
		case clusterid.Different:
		}
	}
	for i := range backends {
		b := &backends[i]
		if !b.DeletionTimestamp.IsZero() || announce.IsDrained(b) ||
			slices.ContainsFunc(announcers, func(k *kubernikusv1.Kluster) bool { return announce.IsAnnouncement(k, b) }) {
			continue
		}
		name := b.Namespace + "/" + b.Name
		switch clusterid.Compare(clusterid.OfUID(at.id), clusterid.OfUID(clusterid.OfBackend(b))) {
		case clusterid.Same:
			keepers = append(keepers, "DiscoveryBackend "+name)
		case clusterid.Unknown:
			if b.Cluster.Type == gimbalv1.BackendKubernetes && b.Namespace == k.Namespace &&
				slices.Contains(k.SecretNames(), b.Cluster.SecretName()) && !k.AcceptsUnknownIdentity(name) {
				doubtful, doubts = append(doubtful, name), append(doubts, "DiscoveryBackend "+name+", which uses the same Secret")
			}
		case clusterid.Different:
		}
	}
	for _, names := range [][]string{keepers, seniors, doubtful, doubts} {
		slices.Sort(names)
	}
	switch {
	case len(keepers) > 0:
		return &hold{reason: kubernikusv1.ReasonSameCluster, thaws: true, message: fmt.Sprintf(
			"nothing is removed, because the cluster is still used: %s: it leads to the same cluster and is not being deleted. To remove this "+
				"Kluster only, set the annotation %s=true; to take the cluster down, delete the other Klusters of it as well, and set its "+
				"DiscoveryBackends to Maintenance", named(keepers), kubernikusv1.DetachAnnotation)}
	case len(doubtful) > 0:
		return &hold{reason: kubernikusv1.ReasonIdentityUnknown, thaws: true, message: fmt.Sprintf(
			"nothing is removed, because another object may lead to the same cluster: %s: correct its Secret; or, if it leads to another "+
				"cluster, set the annotation %s=%s on this one",
			named(doubts), kubernikusv1.AcceptUnknownIdentityAnnotation, strings.Join(doubtful, ","))}
	case len(seniors) > 0:
		return &hold{reason: reasonTwinFirst, message: fmt.Sprintf(
			"Kluster %s leads to the same cluster and is being deleted first: this one continues when that has been released", named(seniors))}
	}
	return nil
}

// changedHold returns why a check may change nothing when the Secret leads to another cluster than the one whose Deorbit began: no user
// confirmed that one's deletion. It is nil while either is unknown.
func changedHold(began, now string) *hold {
	if clusterid.Compare(clusterid.OfUID(began), clusterid.OfUID(now)) != clusterid.Different {
		return nil
	}
	return &hold{reason: kubernikusv1.ReasonClusterChanged, message: fmt.Sprintf(
		"nothing is removed, because the Secret leads to another cluster (%s) than the one that is being torn down (%s): correct the Secret, or "+
			"set the annotation %s=true to release the Kluster", now, began, kubernikusv1.DetachAnnotation)}
}

// maxTwins is how many objects a message names.
const maxTwins = 5

func named(objects []string) string {
	text := strings.Join(objects[:min(len(objects), maxTwins)], "; ")
	if more := len(objects) - maxTwins; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// leaves reports whether a Kluster that is being deleted does nothing to its cluster any more.
func leaves(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && (!k.HasDeorbiter() || k.Detached())
}

// reliesOnFreeze reports whether another Kluster of a cluster takes it down, and has frozen it.
func reliesOnFreeze(k *kubernikusv1.Kluster, id string, others []kubernikusv1.Kluster) bool {
	return slices.ContainsFunc(others, func(other kubernikusv1.Kluster) bool {
		return other.UID != k.UID && other.ClusterID() == id && !leaves(&other) && !clusterid.Stays(&other) &&
			other.Status.Deorbit != nil && isFrozen(other.Status.Deorbit.Stage)
	})
}

// isOlder decides which of several Klusters of a cluster is torn down first: each process comes to the same result.
func isOlder(a, b *kubernikusv1.Kluster) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) < 0
}

// mayBeSame returns what a Kluster has in common with one that is being deleted, when the cluster of one of them is unknown; "" for
// nothing.
func mayBeSame(w stage.Work, at identity, other *kubernikusv1.Kluster) string {
	k, found := w.Kluster, other.Status.Identity
	switch why := clusterid.InCommon(k, other, at.server); {
	case why != "":
		return why
	case cloud.CommonName(w, other) != "" && !k.NeverCameUp(): // one that never ran is no other's, and names count in Verify
		return "has the same " + cloud.CommonName(w, other)
	case at.id == "" || other.ClusterID() != "":
		return "" // without an identity only names lead to objects
	case found.Connection == "", k.Spec.NoCloud, other.Spec.NoCloud:
		return "" // it leads to no cluster, or has nothing in the cloud
	case k.RouterID() != "" && k.RouterID() == other.RouterID():
		return "has the same router"
	case kluster.SharesProject(k, other):
		return "has the same OpenStack project"
	}
	return ""
}
