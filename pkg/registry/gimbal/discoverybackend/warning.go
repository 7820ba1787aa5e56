// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"fmt"
	"strings"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// maintenanceWarnings name the routes that have no other backend, to a user that begins maintenance, or changes while it lasts what
// becomes of such routes.
func maintenanceWarnings(b, old *gimbalv1.DiscoveryBackend) []string {
	if b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || b.Status.Routes == nil {
		return nil
	}
	if old.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance && old.Cluster.DrainPolicy == b.Cluster.DrainPolicy {
		return nil
	}
	routes := b.Status.Routes.WithoutAlternative
	if routes == nil || routes.Count == 0 {
		return nil
	}
	named := strings.Join(routes.Names, ", ")
	if more := int(routes.Count) - len(routes.Names); more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	which := "1 route that has"
	if routes.Count > 1 {
		which = fmt.Sprintf("%d routes that have", routes.Count)
	}
	if b.Cluster.DrainPolicy == gimbalv1.DrainKeepSole {
		return []string{fmt.Sprintf("with drainPolicy KeepSole, maintenance leaves the traffic of %s no other backend: %s", which, named)}
	}
	return []string{fmt.Sprintf("with drainPolicy Strict, maintenance leaves no backend for the requests of %s no other backend: %s", which, named)}
}
