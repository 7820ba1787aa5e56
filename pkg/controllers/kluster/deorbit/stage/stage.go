// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package stage has the types that the stages of Deorbit share: their input and their reports. A stage checks once and performs the
// actions that are possible now, without waiting. It is repeated until it reports no remaining objects.
package stage

import (
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Work is the input of a stage.
type Work struct {
	// Kluster is the Kluster as the API server has it. It is only read.
	Kluster  *kubernikusv1.Kluster
	Policies Policies
	// Drivers and LoadBalancerClasses are further ones whose volumes, snapshots and load balancers are deleted in the cluster. No later stage
	// finds them in OpenStack.
	Drivers, LoadBalancerClasses []string
	// Recorded is what the status reports was seen in the workload cluster, this and earlier stages together. A volume, a snapshot
	// or a Service that is not in it yet is reported and not deleted: what is deleted first and recorded later is lost when the
	// process ends in between.
	Recorded Seen
	// ClusterLost is why the stages inside the workload cluster were left out; "": they were not.
	ClusterLost string
	// ClusterRejected is why the workload cluster, which may be alive, cannot be checked; "": it can. While it is set, nothing of
	// the cluster is deleted in OpenStack.
	ClusterRejected string
	// Unfrozen is true when the cluster was not frozen, and runs: what was not seen in it may be of an object that it has made since.
	Unfrozen bool
	// RoutesLeft is true when routes came back after they were removed: those whose next hop still has a port are left alone in
	// this check.
	RoutesLeft bool
	// Began is when the stage began, and Now the time.
	Began, Now time.Time
}

// EndsInCluster reports whether no later stage finds what the cluster leaves: there is no OpenStack project to look at.
func (w Work) EndsInCluster() bool { return w.Kluster != nil && w.Kluster.Spec.NoCloud }

// Policies report what becomes of which objects.
type Policies struct {
	PersistentVolumes, LoadBalancers, FloatingIPs, Snapshots, UnseenVolumes kubernikusv1.DeletionPolicy
	// ServiceGracePeriod is how long a cloud controller has to clean up behind a Service that has been deleted, where nothing
	// better can be observed.
	ServiceGracePeriod time.Duration
}

// Seen has the objects that were observed in the workload cluster, to find their counterparts in OpenStack later.
type Seen struct {
	Volumes   []kubernikusv1.SeenVolume
	Snapshots []kubernikusv1.SeenSnapshot
	Services  []kubernikusv1.SeenService
	// ClusterName and CSIClusterID are the names that the cloud controller manager and the Cinder CSI driver run with; "":
	// not seen.
	ClusterName, CSIClusterID string
}

// Report is what a stage saw and did.
type Report struct {
	// Seen is all that was there to be recorded, whether it is recorded already or not.
	Seen Seen
	// Remaining are the objects that still have to be deleted, each with the reason why it exists. The stage is complete when this
	// is empty and all of Seen is recorded.
	Remaining []kubernikusv1.DeorbitObject
	// Stuck are those of Remaining that neither time nor another check changes: a user has to act.
	Stuck []kubernikusv1.DeorbitObject
	// Retained stays on purpose, each with the reason.
	Retained []kubernikusv1.DeorbitObject
	// Listed are the kinds of which the check has listed all objects, and Retained has all that stay. The state of others is unknown.
	Listed []string
	// Undecided stays because a user has to decide about it, each with the reason.
	Undecided []kubernikusv1.DeorbitObject
	// Deleted are the objects whose deletion was requested now and accepted.
	Deleted []kubernikusv1.DeorbitObject
}
