// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
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

func TestCandidates(t *testing.T) {
	servers := []openstack.Server{
		{ID: "a", Status: "ACTIVE", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("1.2.3.4")}},
		{ID: "b", Status: "ERROR", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")}},
		{ID: "c", Status: "ACTIVE", Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::5")}},
	}
	for hop, want := range map[string]bool{
		"10.0.0.5": false, "10.0.0.6": true, "10.0.0.9": false, "1.2.3.4": false, "::ffff:10.0.0.5": false, "2001:DB8:0:0::5": false,
		"nonsense": false, "": false, "10.0.0.05": false,
	} {
		if got := len(candidates([]openstack.Route{route("100.100.1.0/24", hop)}, servers)) == 1; got != want {
			t.Errorf("next hop %q: candidate %v", hop, got)
		}
	}
}

func TestEvidence(t *testing.T) {
	hop := netip.MustParseAddr("10.0.0.6")
	port := func(owner, device string) openstack.Port {
		return openstack.Port{ID: "p", DeviceOwner: owner, DeviceID: device, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.60"), hop}}
	}
	deleted := map[string]bool{"gone": true}
	for name, c := range map[string]struct {
		evidence evidence
		inUse    bool
	}{
		"nothing":            {evidence{}, false},
		"a port of a server": {evidence{ports: []openstack.Port{port("compute:nova", "there")}, deleted: deleted}, true},
		"a port of a server that has been deleted": {evidence{ports: []openstack.Port{port("compute:az1", "gone")}, deleted: deleted}, false},
		"two ports, one of a server":               {evidence{ports: []openstack.Port{port("compute:az1", "gone"), port("compute:az1", "there")}, deleted: deleted}, true},
		"a port of a load balancer":                {evidence{ports: []openstack.Port{port("Octavia", "gone")}, deleted: deleted}, true},
		"a port of no client":                      {evidence{ports: []openstack.Port{port("", "")}, deleted: deleted}, true},
		"a port elsewhere":                         {evidence{ports: []openstack.Port{{DeviceOwner: "Octavia", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}}}, false},
		"a floating IP":                            {evidence{floatingIPs: []openstack.FloatingIP{{Address: hop, PortID: "p"}}}, true},
		"a floating IP of nothing":                 {evidence{floatingIPs: []openstack.FloatingIP{{Address: hop}}}, false},
		"another floating IP":                      {evidence{floatingIPs: []openstack.FloatingIP{{Address: netip.MustParseAddr("1.1.1.1"), PortID: "p"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(c.evidence.orphans([]openstack.Route{route("100.100.1.0/24", "10.0.0.6")})) == 0; got != c.inUse {
				t.Errorf("in use: %v", got)
			}
		})
	}
}

// The reason of an orphan is a port that its server left behind, or that there is no port.
func TestOrphanReason(t *testing.T) {
	e := evidence{ports: []openstack.Port{{DeviceOwner: "compute:nova", DeviceID: "gone", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.6")}}}, deleted: map[string]bool{"gone": true}}
	for hop, want := range map[string]kubernikusv1.OrphanReason{"10.0.0.6": kubernikusv1.OrphanServerDeleted, "10.0.0.7": kubernikusv1.OrphanNoPort} {
		if got := e.reason(route("100.100.1.0/24", hop)); got != want {
			t.Errorf("reason of the next hop %s = %s, want %s", hop, got, want)
		}
	}
}

func orphansOf(routes []openstack.Route) (all []Orphan) {
	for _, r := range routes {
		all = append(all, Orphan{Route: r})
	}
	return all
}

// An orphan has the time of its first observation, and is due when it has waited for long enough, which a suspicion postpones.
func TestOrphanTimes(t *testing.T) {
	a, b, c := route("100.100.1.0/24", "10.0.0.6"), route("100.100.2.0/24", "10.0.0.6"), route("100.100.3.0/24", "10.0.0.7")
	own, start := []openstack.Route{a, b, c}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limits := Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}
	m, first := Memory{}.judge(start, own, orphansOf(own[:1]), 3, limits)
	_, second := m.judge(start.Add(10*time.Second), own, orphansOf(own[:2]), 3, limits)
	if o := first.wait[0]; !o.Since.Equal(start) || !o.Due.Equal(start.Add(30*time.Second)) {
		t.Errorf("orphan = %+v, want it since %s, due after 30s", o, start)
	}
	if o := second.wait[0]; !o.Since.Equal(start) || !o.Due.Equal(start.Add(10*time.Second+5*time.Minute)) {
		t.Errorf("orphan = %+v, want it since %s, due one interval after the suspicion began", o, start)
	}
}

// A status lists the first orphans in their order, and counts all.
func TestStatusOf(t *testing.T) {
	if got := statusOf(nil); got != nil {
		t.Errorf("status without orphans = %+v, want none", got)
	}
	var many []Orphan
	for i := maxOrphans + 2; i > 0; i-- {
		many = append(many, Orphan{Route: route(fmt.Sprintf("100.100.%03d.0/24", i), "10.0.0.6"), Since: time.Unix(1e9, 5)})
	}
	got := statusOf(many)
	if got.OrphanCount != maxOrphans+2 || len(got.Orphans) != maxOrphans || got.Orphans[0].Destination != "100.100.001.0/24" {
		t.Errorf("%d of %d orphans, the first one %+v", len(got.Orphans), got.OrphanCount, got.Orphans[0])
	}
	if o := got.Orphans[0]; !o.Since.Equal(new(metav1.Unix(1e9, 0))) || o.RemovalDue != nil {
		t.Errorf("orphan = %+v, want whole seconds and no time of its removal", o)
	}
}

func TestJudge(t *testing.T) {
	a, b, c, d := route("100.100.1.0/24", "10.0.0.6"), route("100.100.2.0/24", "10.0.0.6"), route("100.100.3.0/24", "10.0.0.7"), route("100.100.4.0/24", "10.0.0.8")
	limits := Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}
	type probe struct {
		after     time.Duration // since the first check
		orphans   []openstack.Route
		servers   int
		remove    []openstack.Route
		suspicion Suspicion
		again     time.Duration
	}
	all := []openstack.Route{a, b, c, d}
	one, most := all[:1], all[:3]
	for name, probes := range map[string][]probe{
		"seen twice": {
			{0, one, 3, nil, "", 30 * time.Second},
			{10 * time.Second, one, 3, nil, "", 20 * time.Second},
			{30 * time.Second, one, 3, one, "", 0},
		},
		"in use in between": {
			{0, one, 3, nil, "", 30 * time.Second},
			{20 * time.Second, nil, 3, nil, "", 0},
			{40 * time.Second, one, 3, nil, "", 30 * time.Second},
			{70 * time.Second, one, 3, one, "", 0},
		},
		"each has its own time": {
			{0, one, 3, nil, "", 30 * time.Second},
			{30 * time.Second, all[:2], 3, one, "", 30 * time.Second},
		},
		"half is not suspicious": {
			{0, all[:2], 3, nil, "", 30 * time.Second},
			{30 * time.Second, all[:2], 3, all[:2], "", 0},
		},
		"more than half": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{30 * time.Second, most, 3, nil, TooManyOrphans, 270 * time.Second},
			{5 * time.Minute, most, 3, most, TooManyOrphans, 0},
		},
		"no servers": {
			{0, one, 0, nil, NoServers, 5 * time.Minute},
			{30 * time.Second, one, 0, nil, NoServers, 270 * time.Second},
			{5 * time.Minute, one, 0, one, NoServers, 0},
		},
		"a suspicion begins with itself, not with its routes": {
			{0, one, 3, nil, "", 30 * time.Second},
			{10 * time.Minute, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{15 * time.Minute, most, 3, most, TooManyOrphans, 0},
		},
		"a cleared suspicion starts over": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{time.Minute, nil, 3, nil, "", 0},
			{6 * time.Minute, most, 3, nil, TooManyOrphans, 5 * time.Minute},
		},
		"a latecomer waits for as long": {
			{0, most, 3, nil, TooManyOrphans, 5 * time.Minute},
			{4 * time.Minute, all, 3, nil, TooManyOrphans, time.Minute},
			{5 * time.Minute, all, 3, most, TooManyOrphans, 4 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Memory
			start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, l := range probes {
				next, v := m.judge(start.Add(l.after), all, orphansOf(l.orphans), l.servers, limits)
				if !slices.Equal(routesOf(v.remove), l.remove) || v.suspicion != l.suspicion || v.again != l.again || len(v.remove)+len(v.wait) != len(l.orphans) {
					t.Errorf("check %d: removes %v, waits for %v, suspicion %q, again after %s", i, v.remove, v.wait, v.suspicion, v.again)
				}
				m = next
			}
		})
	}
	t.Run("removed routes start again", func(t *testing.T) {
		m, _ := Memory{}.judge(time.Time{}.Add(time.Hour), all, orphansOf(one), 3, limits)
		m.drop(one)
		if _, v := m.judge(time.Time{}.Add(2*time.Hour), all, orphansOf(one), 3, limits); len(v.remove) != 0 {
			t.Errorf("removes %v at first sight", v.remove)
		}
	})
}
