// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func route(destination, hop string) openstack.Route {
	return openstack.Route{Destination: destination, NextHop: hop}
}

func scope(siblings ...string) Scope {
	s := Scope{ClusterCIDR: netip.MustParsePrefix("100.100.0.0/16")}
	for _, text := range siblings {
		s.Siblings = append(s.Siblings, netip.MustParsePrefix(text))
	}
	return s
}

func TestScope(t *testing.T) {
	for name, c := range map[string]struct {
		scope       Scope
		destination string
		want        bool
	}{
		"a node's range":              {scope(), "100.100.1.0/24", true},
		"one address":                 {scope(), "100.100.255.255/32", true},
		"the whole range":             {scope(), "100.100.0.0/16", true},
		"host bits":                   {scope(), "100.100.1.7/24", true},
		"a supernet":                  {scope(), "100.100.0.0/15", false},
		"a supernet from below":       {scope(), "100.96.0.0/12", false},
		"everything":                  {scope(), "0.0.0.0/0", false},
		"the neighbour":               {scope(), "100.101.0.0/24", false},
		"foreign":                     {scope(), "192.168.0.0/24", false},
		"an address without a length": {scope(), "100.100.1.0", false},
		"nonsense":                    {scope(), "100.100.1.0/33", false},
		"IPv6":                        {scope(), "2001:db8::/64", false},
		"IPv4 as IPv6":                {scope(), "::ffff:100.100.1.0/120", false},
		"a sibling's":                 {scope("100.100.128.0/17"), "100.100.128.0/24", false},
		"beside a sibling":            {scope("100.100.128.0/17"), "100.100.127.0/24", true},
		"around a sibling":            {scope("100.100.128.0/17"), "100.100.0.0/16", false},
		"within a larger sibling":     {scope("100.0.0.0/8"), "100.100.1.0/24", false},
		"a cluster without a range":   {Scope{}, "100.100.1.0/24", false},
		"a cluster of all addresses":  {Scope{ClusterCIDR: netip.MustParsePrefix("0.0.0.0/0")}, "100.100.1.0/24", false},
		"a cluster in IPv6":           {Scope{ClusterCIDR: netip.MustParsePrefix("2001:db8::/32")}, "2001:db8::/64", true},
		"outside of it in IPv6":       {Scope{ClusterCIDR: netip.MustParsePrefix("2001:db8::/32")}, "2001:db9::/64", false},
		"dual-stack, the second":      {Scope{ClusterCIDR: netip.MustParsePrefix("100.100.0.0/16"), SecondCIDR: netip.MustParsePrefix("2001:db8::/32")}, "2001:db8::/64", true},
		"dual-stack, a sibling's":     {Scope{ClusterCIDR: netip.MustParsePrefix("100.100.0.0/16"), SecondCIDR: netip.MustParsePrefix("2001:db8::/32"), Siblings: []netip.Prefix{netip.MustParsePrefix("2001:db8:1::/48")}}, "2001:db8:1::/64", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(c.scope.Owned([]openstack.Route{route(c.destination, "10.0.0.6")})) == 1; got != c.want {
				t.Errorf("own: %v", got)
			}
		})
	}
}
