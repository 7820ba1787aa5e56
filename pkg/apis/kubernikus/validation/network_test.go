// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func TestNetwork(t *testing.T) {
	testCreate(t, []specCase{
		{"own ranges", func(s *kubernikusv1.KlusterSpec) {
			s.ClusterCIDR, s.ServiceCIDR = new("10.1.0.0/16"), "10.2.0.0/16"
		}, nil},
		{"host bits, as Kubernikus takes them", func(s *kubernikusv1.KlusterSpec) {
			s.ClusterCIDR, s.ServiceCIDR = new("3.3.3.3/24"), "10.2.3.4/16"
		}, nil},
		{"no range without a cloud", func(s *kubernikusv1.KlusterSpec) { s.NoCloud, s.ClusterCIDR = true, new("") }, nil},
		{"no range with a cloud", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("") },
			[]string{"spec.clusterCIDR: Required value: may be empty only when spec.noCloud is true"}},
		{"an address for a range", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("10.1.0.0") },
			[]string{`spec.clusterCIDR: Invalid value: "10.1.0.0": must be a range`}},
		{"IPv6 pods", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("fd00::/64") }, nil},
		{"dual-stack", func(s *kubernikusv1.KlusterSpec) {
			s.ClusterCIDR, s.ServiceCIDR = new("100.100.0.0/16,fd00:100::/56"), "198.18.128.0/17,fd00:200::/112"
		}, nil},
		{"two of a family", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("100.100.0.0/16,100.101.0.0/16") },
			[]string{"spec.clusterCIDR: Invalid value"}},
		{"three ranges", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("100.100.0.0/16,fd00:100::/56,fd00:200::/56") },
			[]string{"spec.clusterCIDR: Invalid value"}},
		{"dual-stack, the second overlaps", func(s *kubernikusv1.KlusterSpec) {
			s.ClusterCIDR, s.ServiceCIDR = new("100.100.0.0/16,fd00:100::/56"), "fd00:100::/112"
		}, []string{"spec.serviceCIDR: Invalid value"}},
		{"IPv4 written as IPv6", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR = new("::ffff:10.1.0.0/112") },
			[]string{"spec.clusterCIDR: Invalid value"}},
		{"IPv6 services", func(s *kubernikusv1.KlusterSpec) { s.ServiceCIDR = "fd00::/64" }, nil},
		{"the same range twice", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR, s.ServiceCIDR = new("10.1.0.0/16"), "10.1.0.0/16" },
			[]string{`spec.serviceCIDR: Invalid value: "10.1.0.0/16": must not overlap with spec.clusterCIDR 10.1.0.0/16`}},
		{"one range in the other", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR, s.ServiceCIDR = new("10.1.0.0/16"), "10.1.4.0/24" },
			[]string{"spec.serviceCIDR: Invalid value"}},
		{"overlap by host bits", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR, s.ServiceCIDR = new("10.1.0.0/17"), "10.1.200.0/16" },
			[]string{"spec.serviceCIDR: Invalid value"}},
		{"neighbours", func(s *kubernikusv1.KlusterSpec) { s.ClusterCIDR, s.ServiceCIDR = new("10.0.0.0/16"), "10.1.0.0/16" }, nil},
		{"no third address", func(s *kubernikusv1.KlusterSpec) { s.ServiceCIDR = "10.2.0.0/31" },
			[]string{"spec.dnsAddress: Required value: spec.serviceCIDR has no third address"}},
		{"own DNS address", func(s *kubernikusv1.KlusterSpec) { s.DNSAddress = "2.2.2.2" }, nil},
		{"IPv6 DNS address", func(s *kubernikusv1.KlusterSpec) { s.DNSAddress = "fd00::2" }, nil},
		{"a name for the DNS address", func(s *kubernikusv1.KlusterSpec) { s.DNSAddress = "dns" }, []string{"spec.dnsAddress: Invalid value"}},
		{"own domain", func(s *kubernikusv1.KlusterSpec) { s.DNSDomain = "k8s.example.org" }, nil},
		{"no domain", func(s *kubernikusv1.KlusterSpec) { s.DNSDomain = "cluster_local" }, []string{"spec.dnsDomain: Invalid value"}},
		{"IPv6 to advertise", func(s *kubernikusv1.KlusterSpec) { s.AdvertiseAddress = "fd00::1" }, nil},
		{"a name to advertise", func(s *kubernikusv1.KlusterSpec) { s.AdvertiseAddress = "localhost" },
			[]string{"spec.advertiseAddress: Invalid value"}},
		{"a zone to advertise", func(s *kubernikusv1.KlusterSpec) { s.AdvertiseAddress = "fe80::1%eth0" },
			[]string{"spec.advertiseAddress: Invalid value"}},
		{"lowest port", func(s *kubernikusv1.KlusterSpec) { s.AdvertisePort = new(int32(1)) }, nil},
		{"highest port", func(s *kubernikusv1.KlusterSpec) { s.AdvertisePort = new(int32(65535)) }, nil},
		{"port 0", func(s *kubernikusv1.KlusterSpec) { s.AdvertisePort = new(int32(0)) }, []string{"spec.advertisePort: Invalid value"}},
		{"port too high", func(s *kubernikusv1.KlusterSpec) { s.AdvertisePort = new(int32(65536)) }, []string{"spec.advertisePort: Invalid value"}},
	})
}

func TestOpenstack(t *testing.T) {
	const id = "2c3d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f"
	testCreate(t, []specCase{
		{"all ids", func(s *kubernikusv1.KlusterSpec) {
			s.Openstack = kubernikusv1.OpenstackSpec{RouterID: id, NetworkID: id, LBSubnetID: id, LBFloatingNetworkID: id, SecurityGroupName: "my nodes"}
		}, nil},
		{"names for ids", func(s *kubernikusv1.KlusterSpec) {
			s.Openstack = kubernikusv1.OpenstackSpec{RouterID: "router", NetworkID: "network", LBSubnetID: "subnet", LBFloatingNetworkID: "external"}
		}, []string{
			`spec.openstack.routerID: Invalid value: "router": must be a lowercase UUID`,
			"spec.openstack.networkID: Invalid value",
			"spec.openstack.lbSubnetID: Invalid value",
			"spec.openstack.lbFloatingNetworkID: Invalid value",
		}},
	})
}

func TestOpenstackIDsAreImmutableOnceSet(t *testing.T) {
	const id, other = "2c3d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f", "1b2c3d4e-5f6a-4b7c-8d9e-0f1a2b3c4d5e"
	rules := newRules(t)
	for name, value := range map[string]func(*kubernikusv1.OpenstackSpec) *string{
		"routerID":            func(s *kubernikusv1.OpenstackSpec) *string { return &s.RouterID },
		"networkID":           func(s *kubernikusv1.OpenstackSpec) *string { return &s.NetworkID },
		"lbSubnetID":          func(s *kubernikusv1.OpenstackSpec) *string { return &s.LBSubnetID },
		"lbFloatingNetworkID": func(s *kubernikusv1.OpenstackSpec) *string { return &s.LBFloatingNetworkID },
	} {
		for _, test := range []struct{ name, before, after, want string }{
			{"set later", "", id, ""},
			{"kept", id, id, ""},
			{"changed", id, other, "field cannot be modified once set"},
			{"removed", id, "", "field cannot be cleared once set"},
		} {
			t.Run(name+" "+test.name, func(t *testing.T) {
				old, changed := kluster(), kluster()
				*value(&old.Spec.Openstack), *value(&changed.Spec.Openstack) = test.before, test.after
				var want []string
				if test.want != "" {
					want = []string{"spec.openstack." + name + ": Invalid value: null: " + test.want}
				}
				expect(t, rules.update(changed, old), want...)
			})
		}
	}
	changed := kluster(with(func(s *kubernikusv1.KlusterSpec) { s.Openstack.SecurityGroupName = "nodes" }))
	expect(t, rules.update(changed, kluster()))
}
