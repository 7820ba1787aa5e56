// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KlusterConfiguration configures the controllers of Klusters.
type KlusterConfiguration struct {
	// Enabled enables the controllers. They read Secrets, which requires the permissions in artifacts/kluster.
	Enabled *bool `json:"enabled"`
	// ConcurrentSyncs is how many Klusters each controller reconciles concurrently. Requests to clouds do not block these workers.
	ConcurrentSyncs *int32 `json:"concurrentSyncs"`
	// Deorbit configures how long the cleanup of a deleted cluster may take.
	Deorbit DeorbitConfiguration `json:"deorbit"`
	// RouteGC configures the removal of orphaned routes.
	RouteGC RouteGCConfiguration `json:"routeGC"`
	// OpenStack limits the requests to a cloud.
	OpenStack OpenStackConfiguration `json:"openstack"`
	// ClusterAPI configures Klusters for the clusters that Cluster API runs on OpenStack.
	ClusterAPI ClusterAPIConfiguration `json:"clusterAPI"`
}

// ClusterAPIConfiguration configures Klusters for the clusters that Cluster API runs on OpenStack.
type ClusterAPIConfiguration struct {
	// Enabled enables the controller, if those of Klusters are enabled as well. It requires the permissions in artifacts/capi.
	Enabled *bool `json:"enabled"`
	// Namespaces are those whose Clusters all get a Kluster, except for those with the label or annotation
	// groundskeeper.io/deorbit=false. In other namespaces a Cluster needs it with the value "true".
	Namespaces []string `json:"namespaces"`
	// DrainTimeout is how long the machines of a deleted Cluster are retained at most, for what is done inside the cluster.
	DrainTimeout *metav1.Duration `json:"drainTimeout"`
	// VerifyTimeout is how long the network of a deleted Cluster is retained at most after its machines have been deleted, for what is done in
	// OpenStack.
	VerifyTimeout *metav1.Duration `json:"verifyTimeout"`
	// RuntimeExtension specifies that the Runtime Extension of artifacts/capi/runtime-extension is registered: it then retains the
	// machines of a Cluster with a topology, which get no hooks as long as Cluster API calls it.
	RuntimeExtension *bool `json:"runtimeExtension"`
}

// DeorbitConfiguration configures how long the cleanup of a deleted cluster may take, unless the Kluster specifies it.
type DeorbitConfiguration struct {
	// Timeout is how long it takes at most. After it the Kluster is released, and what is left is reported.
	Timeout *metav1.Duration `json:"timeout"`
	// StageTimeout is how long a stage inside the cluster may go without progress before the next one starts.
	StageTimeout *metav1.Duration `json:"stageTimeout"`
	// APIUnavailableTimeout is how long the API server of the cluster must fail, without a break, to be given up.
	APIUnavailableTimeout *metav1.Duration `json:"apiUnavailableTimeout"`
	// ServiceGracePeriod is how long a cloud controller has to clean up behind a deleted Service where its progress
	// cannot be observed.
	ServiceGracePeriod *metav1.Duration `json:"serviceGracePeriod"`
	// PollInterval is the time between two checks of what Deorbit waits for, with a jitter of up to a tenth.
	PollInterval *metav1.Duration `json:"pollInterval"`
	// CSIDrivers are further drivers, and provisioners, whose volumes are deleted with their claims in clusters without OpenStack, and whose
	// snapshots are. Those of all others are left over.
	CSIDrivers []string `json:"csiDrivers"`
	// LoadBalancerClasses are the spec.loadBalancerClass of further Services that are deleted in clusters without OpenStack. Services
	// without a class are.
	LoadBalancerClasses []string `json:"loadBalancerClasses"`
}

// RouteGCConfiguration configures the removal of orphaned routes, unless the Kluster specifies it.
type RouteGCConfiguration struct {
	// Enabled turns Route GC on.
	Enabled *bool `json:"enabled"`
	// Interval is the time between two checks of a router, with a jitter of up to a tenth.
	Interval *metav1.Duration `json:"interval"`
	// ConfirmAfter is how long a route must have led nowhere before it is removed.
	ConfirmAfter *metav1.Duration `json:"confirmAfter"`
	// MaxRemovalFraction is the part of a cluster's routes that may be removed without another look one interval later.
	MaxRemovalFraction *float64 `json:"maxRemovalFraction"`
	// DryRun reports what would be removed, and removes nothing.
	DryRun *bool `json:"dryRun"`
}

// OpenStackConfiguration limits the requests to one cloud, for all Klusters together.
type OpenStackConfiguration struct {
	// QPS is how many requests per second are sent at most, averaged.
	QPS *float32 `json:"qps"`
	// Burst is the number of requests that may exceed QPS for a short time.
	Burst *int32 `json:"burst"`
	// Timeout ends one attempt at a request.
	Timeout *metav1.Duration `json:"timeout"`
}
