// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProjectAuthorization is how members get their permissions on Projects.
type ProjectAuthorization string

// The modes, as --project-authorization of the API server.
const (
	// ProjectAuthorizationRoles writes ClusterRoles and ClusterRoleBindings for each Project.
	ProjectAuthorizationRoles ProjectAuthorization = "roles"
	// ProjectAuthorizationMembership writes no cluster-scoped object for a Project: the API server decides by the members.
	ProjectAuthorizationMembership ProjectAuthorization = "membership"
)

// ProjectControllerConfiguration configures the controllers of Projects.
type ProjectControllerConfiguration struct {
	// Authorization is how members get their permissions on Projects: roles (ClusterRoles and bindings for each Project) or
	// membership (the API server decides, with --project-authorization=membership on all replicas).
	Authorization ProjectAuthorization `json:"authorization"`
	// ConcurrentSyncs is how many Projects are worked on at the same time.
	ConcurrentSyncs *int32 `json:"concurrentSyncs"`
	// MinimumLifetimeDays is how old a Project must be, and how long ago its last activity, before it can be stale.
	MinimumLifetimeDays *int32 `json:"minimumLifetimeDays"`
	// StaleGracePeriodDays is how long a stale Project gets no date of deletion.
	StaleGracePeriodDays *int32 `json:"staleGracePeriodDays"`
	// StaleExpirationTimeDays is how long after it became stale a Project is deleted. A new value never brings a date
	// forward that a Project already has.
	StaleExpirationTimeDays *int32 `json:"staleExpirationTimeDays"`
	// StaleNoticeDays is how long before its deletion a Project gets its date at least, however long it has been stale: 0 deletes one
	// immediately that is overdue when it gets its date, as after a lowered StaleExpirationTimeDays.
	StaleNoticeDays *int32 `json:"staleNoticeDays"`
	// StaleSyncPeriod is the interval between two checks of an unchanged Project.
	StaleSyncPeriod *metav1.Duration `json:"staleSyncPeriod"`
	// StaleDryRun marks stale Projects and deletes none: events and metrics report what would be deleted.
	StaleDryRun *bool `json:"staleDryRun"`
	// UsageResources are the resources whose objects keep a Project in use, each as plural.group.
	UsageResources []string `json:"usageResources"`
	// Quotas are the ResourceQuotas of project namespaces. The first whose selector matches counts.
	Quotas []QuotaConfiguration `json:"quotas"`
}

// QuotaConfiguration is the ResourceQuota of the namespaces of some Projects.
type QuotaConfiguration struct {
	// Config is a ResourceQuota, of which labels, annotations and the spec are used.
	Config corev1.ResourceQuota `json:"config"`
	// ProjectSelector selects Projects by their labels. Left out or empty: all of them. Members may set labels, so these
	// must begin with quota.groundskeeper.io/, or be given to the API server by --project-quota-labels.
	ProjectSelector *metav1.LabelSelector `json:"projectSelector"`
}
