// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// IsAutomatic reports whether a backend is in automatic maintenance. The spec takes precedence: it is false for a backend in
// maintenance, and if automatic maintenance is disabled.
func IsAutomatic(backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance && backend.Cluster.Maintenance.Automatic &&
		meta.IsStatusConditionTrue(backend.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance)
}

// IsInMaintenance reports whether a backend is to get no traffic, because its owner or automatic maintenance wants it so.
func IsInMaintenance(backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance || IsAutomatic(backend)
}

// KeepsSole reports whether a backend keeps the traffic of routes without another one. In automatic maintenance it does: that it
// cannot be reached from here does not mean that it does not serve.
func KeepsSole(backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Cluster.DrainPolicy == gimbalv1.DrainKeepSole || IsAutomatic(backend)
}
