// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// world is what the property test knows about the fake, kept in separate terms.
type world struct {
	*site
	servers map[string]string // id → address
	ports   map[string]bool   // addresses with a port of something else
}

// within reports whether all addresses of a destination are in a range, by counting.
func within(destination, cidr string) bool {
	_, inner, err := net.ParseCIDR(destination)
	_, outer, wrong := net.ParseCIDR(cidr)
	if err != nil || wrong != nil || len(inner.IP) != len(outer.IP) {
		return false
	}
	edges := func(n *net.IPNet) (*big.Int, *big.Int) {
		ones, bits := n.Mask.Size()
		first := new(big.Int).SetBytes(n.IP)
		return first, new(big.Int).Add(first, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits-ones)), big.NewInt(1)))
	}
	innerFirst, innerLast := edges(inner)
	outerFirst, outerLast := edges(outer)
	return outerFirst.Cmp(innerFirst) <= 0 && innerLast.Cmp(outerLast) <= 0
}

// removable reports whether a route may go, by the words of the specification.
func (w *world) removable(r fake.Route) bool {
	hop := net.ParseIP(r.NextHop)
	if hop == nil || !within(r.Destination, "100.100.0.0/16") || within(r.Destination, "100.100.128.0/17") || within("100.100.128.0/17", r.Destination) {
		return false
	}
	for _, address := range w.servers {
		if net.ParseIP(address).Equal(hop) {
			return false
		}
	}
	return !w.ports[hop.String()]
}

// TestSoakNeverRemovesForeignRoutes plays random lives of clusters, their siblings and others on one router.
func TestSoakNeverRemovesForeignRoutes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{site: newSite(t, fake.Options{PageSize: rapid.IntRange(1, 4).Draw(rt, "page"), MaxRoutes: 1000, NoAtomicRoutes: rapid.Bool().Draw(rt, "old")}),
			servers: map[string]string{}, ports: map[string]bool{}}
		defer w.Close()
		w.target.Scope = scope("100.100.128.0/17", "100.101.0.0/16")
		address := rapid.Custom(func(rt *rapid.T) string { return fmt.Sprintf("10.0.0.%d", rapid.IntRange(5, 12).Draw(rt, "host")) })
		destination := rapid.OneOf(
			rapid.Custom(func(rt *rapid.T) string {
				return fmt.Sprintf("100.%d.%d.0/%d", rapid.IntRange(99, 102).Draw(rt, "second"), rapid.IntRange(0, 255).Draw(rt, "third"), rapid.IntRange(24, 32).Draw(rt, "bits"))
			}),
			rapid.SampledFrom([]string{"100.100.0.0/16", "100.100.0.0/15", "100.100.0.0/17", "100.100.128.0/17", "100.100.192.0/18", "0.0.0.0/0", "192.168.0.0/24", "2001:db8::/64"}),
		)
		rt.Repeat(map[string]func(*rapid.T){
			"a server comes": func(rt *rapid.T) {
				a := address.Draw(rt, "address")
				w.servers[w.AddServer("garden", w.network, a, rapid.SampledFrom([]string{"ACTIVE", "ERROR", "BUILD", "SHUTOFF"}).Draw(rt, "status"))] = a
			},
			"a server is deleted": func(rt *rapid.T) {
				if len(w.servers) > 0 {
					id := rapid.SampledFrom(slices.Sorted(maps.Keys(w.servers))).Draw(rt, "server")
					w.RemoveServer(id, rapid.Bool().Draw(rt, "port stays"))
					delete(w.servers, id)
				}
			},
			"a port comes": func(rt *rapid.T) {
				a := address.Draw(rt, "address")
				w.ports[a] = true
				w.AddPort("garden", w.network, rapid.SampledFrom([]string{"", "Octavia", "network:dhcp"}).Draw(rt, "owner"), "device", a)
			},
			"routes come": func(rt *rapid.T) {
				have := w.Routes(w.target.RouterID)
				for range rapid.IntRange(1, 5).Draw(rt, "routes") {
					r := fake.Route{Destination: destination.Draw(rt, "destination"), NextHop: address.Draw(rt, "next hop")}
					if !slices.Contains(have, r) {
						have = append(have, r)
					}
				}
				w.SetRoutes(w.target.RouterID, have...)
			},
			"a cell fails or recovers": func(rt *rapid.T) {
				w.CellDown(rapid.Bool().Draw(rt, "down"), slices.Sorted(maps.Keys(w.servers))...)
			},
			"time passes": func(rt *rapid.T) {
				have := w.Routes(w.target.RouterID)
				_, _ = w.run(time.Duration(rapid.IntRange(1, 600).Draw(rt, "seconds")) * time.Second)
				left := w.Routes(w.target.RouterID)
				for _, r := range have {
					if !slices.Contains(left, r) && !w.removable(r) {
						rt.Fatalf("removed %s, with servers %v and ports %v", r, w.servers, w.ports)
					}
				}
			},
		})
		w.CellDown(false)
		w.servers[w.AddServer("garden", w.network, "10.0.0.200", "ACTIVE")] = "10.0.0.200" // it proves that Nova is of this region
		for range 3 {
			w.mustRun(10 * time.Minute)
		}
		for _, r := range w.Routes(w.target.RouterID) {
			if w.removable(r) {
				rt.Fatalf("never removed %s, with servers %v and ports %v", r, w.servers, w.ports)
			}
		}
	})
}
