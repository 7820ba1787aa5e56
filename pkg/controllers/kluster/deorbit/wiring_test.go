// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"strings"
	"testing"
	"time"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// TestRoutesStayWithAnotherOfTheSameIdentity checks that no route is removed while another Kluster has the identity of the one that is
// being deleted, though its range and its router are others.
func TestRoutesStayWithAnotherOfTheSameIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		clusterName string
		removed     bool
	}{
		"the same name":    {"web", false},
		"another identity": {"shop", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			t.Cleanup(s.Close)
			s.AddUser("gardener", "password", "garden")
			network := s.AddNetwork("10.0.0.0/24")
			router := s.AddRouter("garden", network)
			s.SetRoutes(router, fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"})
			clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			client, err := clients.Get(t.Context(), klustertest.Secret("k-secret", s.AuthURL(), "gardener", "password", "garden", nil))
			if err != nil {
				t.Fatal(err)
			}
			kluster := func(name, cidr, router, clusterName string) *kubernikusv1.Kluster {
				return klustertest.Kluster(name, func(k *kubernikusv1.Kluster) {
					k.Spec.ClusterCIDR, k.Spec.Openstack.RouterID, k.Spec.CloudProvider.ClusterName = new(cidr), router, new(clusterName)
					k.Status.Openstack = &kubernikusv1.OpenstackStatus{ProjectID: "garden"}
				})
			}
			k, other := kluster("k", "100.100.0.0/16", router, "web"), kluster("other", "100.101.0.0/16", "another", tc.clusterName)
			klustertest.Going(k)
			config := configv1alpha1.KlusterConfiguration{}
			configv1alpha1.SetDefaults_KlusterConfiguration(&config)
			p := openProject{Project: cloud.Of(client, func() error { return nil }), routeGC: config.RouteGC}
			report, err := p.routes(t.Context(), stage.Work{Kluster: k}, []kubernikusv1.Kluster{*k, *other})
			if err != nil {
				t.Fatal(err)
			}
			if removed := len(s.Routes(router)) == 0; removed != tc.removed {
				t.Errorf("removed = %t, want %t: %+v", removed, tc.removed, report)
			}
			if !tc.removed && (len(report.Remaining) != 1 || !strings.HasPrefix(report.Remaining[0].Reason, kubernikusv1.ReasonIdentityConflict)) {
				t.Errorf("report = %+v, want that the route remains, for %s", report, kubernikusv1.ReasonIdentityConflict)
			}
		})
	}
}
