// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// A user that begins maintenance, or changes its policy, is warned of the routes that have no other backend.
func TestMaintenanceWarnings(t *testing.T) {
	cluster := func(status gimbalv1.ClusterStatus, policy gimbalv1.DrainPolicy) gimbalv1.Cluster {
		return gimbalv1.Cluster{ClusterStatus: status, DrainPolicy: policy}
	}
	enabled := cluster(gimbalv1.ClusterEnabled, gimbalv1.DrainStrict)
	strict := cluster(gimbalv1.ClusterMaintenance, gimbalv1.DrainStrict)
	keepSole := cluster(gimbalv1.ClusterMaintenance, gimbalv1.DrainKeepSole)
	routes := func(count int32, names ...string) *gimbalv1.RouteStatus {
		return &gimbalv1.RouteStatus{Matching: 9, WithoutAlternative: &gimbalv1.RouteNames{Names: names, Count: count}}
	}
	one := routes(1, "HTTPProxy shop/web")
	const ofStrict = "with drainPolicy Strict, maintenance leaves no backend for the requests of 1 route that has no other backend: HTTPProxy shop/web"
	const ofKeepSole = "with drainPolicy KeepSole, maintenance leaves the traffic of 1 route that has no other backend: HTTPProxy shop/web"
	for name, tc := range map[string]struct {
		before, after gimbalv1.Cluster
		routes        *gimbalv1.RouteStatus
		want          []string
	}{
		"begins":                  {enabled, strict, one, []string{ofStrict}},
		"begins and keeps":        {enabled, keepSole, one, []string{ofKeepSole}},
		"changes the policy":      {keepSole, strict, one, []string{ofStrict}},
		"continues":               {strict, strict, one, nil},
		"ends":                    {strict, enabled, one, nil},
		"changes it when enabled": {cluster(gimbalv1.ClusterEnabled, gimbalv1.DrainKeepSole), enabled, one, nil},
		"every route has another": {enabled, strict, &gimbalv1.RouteStatus{Matching: 9}, nil},
		"the routes are unknown":  {enabled, strict, nil, nil},
		"an empty list":           {enabled, strict, routes(0), nil},
		"more than are named": {enabled, strict, routes(5, "HTTPProxy shop/web", "Ingress shop/old"), []string{
			"with drainPolicy Strict, maintenance leaves no backend for the requests of 5 routes that have no other backend: " +
				"HTTPProxy shop/web, Ingress shop/old and 3 more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			old, b := backend("us-east"), backend("us-east")
			old.Cluster, b.Cluster, b.Status.Routes = tc.before, tc.after, tc.routes
			if diff := cmp.Diff(tc.want, maintenanceWarnings(b, old)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
