// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refresh intervals, in seconds, of a backend that gives none: those of Gimbal's discoverers.
const (
	// DefaultOpenStackRefreshInterval is Gimbal's reconciliation period.
	DefaultOpenStackRefreshInterval int32 = 30
	// DefaultKubernetesRefreshInterval is Gimbal's resync interval.
	DefaultKubernetesRefreshInterval int32 = 1800
)

// SetDefaults_DiscoveryBackend is called when a DiscoveryBackend is decoded.
func SetDefaults_DiscoveryBackend(backend *DiscoveryBackend) {
	Normalize(backend)
}

// Normalize spells every enum of the backend in its canonical case and fills in the defaults. A value that its enum
// does not have stays, for validation to reject. Normalizing is idempotent.
//
// It rewrites scalars only, which have one owner in server-side apply, and no field into another: credentials stays
// credentials.
func Normalize(backend *DiscoveryBackend) {
	cluster := &backend.Cluster
	cluster.Type = canonicalBackendType(cluster.Type)
	if cluster.RefreshInterval == nil {
		switch cluster.Type {
		case BackendOpenStack:
			cluster.RefreshInterval = new(DefaultOpenStackRefreshInterval)
		case BackendKubernetes:
			cluster.RefreshInterval = new(DefaultKubernetesRefreshInterval)
		}
	}
	cluster.ClusterStatus = cmp.Or(canonicalClusterStatus(cluster.ClusterStatus), ClusterEnabled)
	cluster.Namespaces.Missing = cmp.Or(
		canonical(cluster.Namespaces.Missing, MissingNamespaceWait, MissingNamespaceCreate, MissingNamespaceIgnore), MissingNamespaceWait)
	cluster.DrainPolicy = cmp.Or(canonical(cluster.DrainPolicy, DrainStrict, DrainKeepSole), DrainStrict)
	cluster.ServicePolicy = cmp.Or(canonical(cluster.ServicePolicy, ServicesAll, ServicesExported), ServicesAll)
	cluster.ZonePolicy = cmp.Or(canonical(cluster.ZonePolicy, ZonesCopy, ZonesOmit), ZonesCopy)
	if cluster.DrainGracePeriod == nil {
		cluster.DrainGracePeriod = &metav1.Duration{}
	}
}

func canonicalBackendType(value BackendType) BackendType {
	return canonical(value, BackendOpenStack, BackendKubernetes)
}

func canonicalClusterStatus(value ClusterStatus) ClusterStatus {
	return canonical(value, ClusterEnabled, ClusterMaintenance)
}

// canonical returns the member that equals value except for its case, or value itself when there is none.
func canonical[T ~string](value T, members ...T) T {
	for _, member := range members {
		if strings.EqualFold(string(value), string(member)) {
			return member
		}
	}
	return value
}
