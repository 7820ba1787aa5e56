// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"fmt"
	"slices"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// reasonTwinFirst means that another Kluster of the same cluster is being deleted first.
const reasonTwinFirst = "SameClusterFirst"

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

// holdOf returns why a check may change nothing for other objects, nil when it may.
func holdOf(h clusterid.Holders) *hold {
	switch used, unknown, first := h.InUse(), h.Unknown(), h.First(); {
	case used != "":
		return &hold{reason: kubernikusv1.ReasonSameCluster, thaws: true, message: used}
	case unknown != "":
		return &hold{reason: kubernikusv1.ReasonIdentityUnknown, thaws: true, message: unknown}
	case first != "":
		return &hold{reason: reasonTwinFirst, message: first}
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

// reliesOnFreeze reports whether another Kluster of a cluster takes it down, and has frozen it.
func reliesOnFreeze(k *kubernikusv1.Kluster, id string, others []kubernikusv1.Kluster) bool {
	return slices.ContainsFunc(others, func(other kubernikusv1.Kluster) bool {
		return other.UID != k.UID && other.ClusterID() == id && !clusterid.Leaves(&other) && !clusterid.Stays(&other) &&
			other.Status.Deorbit != nil && isFrozen(other.Status.Deorbit.Stage)
	})
}
