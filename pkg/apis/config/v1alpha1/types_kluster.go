// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KlusterConfiguration configures the controllers of Klusters.
type KlusterConfiguration struct {
	// Enabled turns them on. They read Secrets, which takes the rights of artifacts/kluster.
	Enabled *bool `json:"enabled"`
	// ConcurrentSyncs is how many Klusters each of them works on at the same time. Nobody waits for a cloud there.
	ConcurrentSyncs *int32 `json:"concurrentSyncs"`
	// Deorbit says how long the removal of a cluster's leftovers may take.
	Deorbit DeorbitConfiguration `json:"deorbit"`
	// RouteGC says how routers are kept clean.
	RouteGC RouteGCConfiguration `json:"routeGC"`
	// OpenStack limits what is asked of a cloud.
	OpenStack OpenStackConfiguration `json:"openstack"`
}

// DeorbitConfiguration says how long the removal of a cluster's leftovers may take where a Kluster does not say it itself.
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
	// PollInterval is the time between two looks at what is waited for, stretched by up to a tenth.
	PollInterval *metav1.Duration `json:"pollInterval"`
}

// RouteGCConfiguration says how routers are kept clean where a Kluster does not say it itself.
type RouteGCConfiguration struct {
	// Enabled turns Route GC on.
	Enabled *bool `json:"enabled"`
	// Interval is the time between two looks at a router, stretched by up to a tenth.
	Interval *metav1.Duration `json:"interval"`
	// ConfirmAfter is how long a route must have led nowhere before it is removed.
	ConfirmAfter *metav1.Duration `json:"confirmAfter"`
	// MaxRemovalFraction is the part of a cluster's routes that may be removed without another look one interval later.
	MaxRemovalFraction *float64 `json:"maxRemovalFraction"`
	// DryRun reports what would be removed, and removes nothing.
	DryRun *bool `json:"dryRun"`
}

// OpenStackConfiguration limits what is asked of one cloud, for all Klusters together.
type OpenStackConfiguration struct {
	// QPS is how many requests per second are sent at most, averaged.
	QPS *float32 `json:"qps"`
	// Burst is how many requests may go out at once on top of QPS.
	Burst *int32 `json:"burst"`
	// Timeout ends one attempt at a request.
	Timeout *metav1.Duration `json:"timeout"`
}
