// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestServers(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	network := s.AddNetwork(subnetCIDR)
	var ids []string
	for _, address := range []string{"10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"} {
		ids = append(ids, s.AddServer("garden", network, address, "ACTIVE"))
	}
	s.AddServer("other", network, "10.0.0.9", "ACTIVE")
	s.AddFloatingIP("garden", "1.2.3.4", ids[0])
	client := connected(t, s)
	servers, err := client.Compute().Servers(context.Background())
	if err != nil || len(servers) != 4 || !slices.Equal(servers[3].Addresses, addresses("10.0.0.5", "1.2.3.4")) {
		t.Errorf("got %v, %v", servers, err)
	}
	if first := s.Requests()[0]; first.Query != "" {
		t.Errorf("the first page is requested with %q, which hides cells that are down", first.Query)
	}

	s.Inject(fake.Fault{Path: "/compute/v2.1/servers", Skip: 1, Status: 500})
	if _, err := client.Compute().Servers(context.Background()); ReasonOf(err) != ReasonUnreachable || !strings.Contains(err.Error(), "list the servers: page 2: 500") {
		t.Errorf("a failed page: %v", err)
	}
	s.Heal()
	s.CellDown(true, ids[1])
	if _, err := client.Compute().Servers(context.Background()); ReasonOf(err) != ReasonIncomplete || !strings.Contains(err.Error(), ids[1]) {
		t.Errorf("a cell that is down: %v", err)
	}
	if exists, err := client.Compute().ServerExists(context.Background(), ids[1]); !exists || err != nil {
		t.Errorf("a server of a cell that is down: %v, %v", exists, err)
	}
	if exists, err := client.Compute().ServerExists(context.Background(), "none"); exists || err != nil {
		t.Errorf("a server that has been deleted: %v, %v", exists, err)
	}
	s.Inject(fake.Fault{Path: "/compute", Status: 200, Body: "{}", Times: 1})
	if exists, err := client.Compute().ServerExists(context.Background(), "none"); exists || ReasonOf(err) != ReasonIncomplete {
		t.Errorf("an empty response: %v, %v", exists, err)
	}
	s.Inject(fake.Fault{Path: "/compute", Status: 403})
	if exists, err := client.Compute().ServerExists(context.Background(), "none"); exists || ReasonOf(err) != ReasonForbidden {
		t.Errorf("a server that may not be seen: %v, %v", exists, err)
	}
}

func TestListsThatCannotBeReliedOn(t *testing.T) {
	for name, body := range map[string]string{
		"no list":        `{}`,
		"null":           `{"servers": null}`,
		"another server": `{"servers": [{"id": "a", "status": "ACTIVE"}], "servers_links": [{"rel": "next", "href": "http://other.example/servers"}]}`,
		"links":          `{"servers": [], "servers_links": 1}`,
		"no status":      `{"servers": [{"id": "a"}]}`,
		"an address":     `{"servers": [{"id": "a", "status": "ACTIVE", "addresses": {"net": [{"addr": "nonsense"}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, fake.Options{})
			client := connected(t, s)
			s.Inject(fake.Fault{Path: "/compute/v2.1/servers", Status: 200, Body: body})
			if servers, err := client.Compute().Servers(context.Background()); ReasonOf(err) != ReasonIncomplete || len(servers) != 0 {
				t.Errorf("got %v, %v", servers, err)
			}
		})
	}
}

func TestPorts(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	network, other, far := s.AddNetwork(subnetCIDR), s.AddNetwork("10.1.0.0/24"), s.AddNetwork("10.2.0.0/24")
	router := s.AddRouter("garden", network, other)
	for _, address := range []string{"10.0.0.5", "10.0.0.6", "10.0.0.7"} {
		s.AddPort("garden", network, "compute:nova", "device-"+address, address)
	}
	s.AddPort("garden", far, "", "", "10.0.0.5")
	client := connected(t, s).Network()
	networks, err := client.RouterNetworks(context.Background(), router)
	slices.Sort(networks)
	want := []string{network, other}
	slices.Sort(want)
	if err != nil || !slices.Equal(networks, want) {
		t.Errorf("networks %v, %v", networks, err)
	}
	parent, subport := s.AddPort("garden", network, "", "", "10.0.0.8"), s.AddPort("garden", other, "", "", "10.1.0.8")
	s.SetAddressPairs(parent, "10.0.0.100", "10.9.0.0/24")
	trunk := s.AddTrunk("garden", parent, subport)
	ports, err := client.PortsOn(context.Background(), networks)
	at := map[string]Port{}
	for _, p := range ports {
		at[p.Addresses[0].String()] = p
	}
	if err != nil || len(ports) != 7 || at["10.0.0.5"].DeviceID != "device-10.0.0.5" || at["10.1.0.8"].DeviceOwner != "trunk:subport" {
		t.Errorf("ports %v, %v", ports, err)
	}
	if pairs := at["10.0.0.8"].AddressPairs; !slices.Equal(pairs, []netip.Prefix{netip.MustParsePrefix("10.0.0.100/32"), netip.MustParsePrefix("10.9.0.0/24")}) {
		t.Errorf("address pairs %v", pairs)
	}
	if some, err := client.PortsByID(context.Background(), []string{parent, "nobody"}); err != nil || len(some) != 1 || some[0].ID != parent {
		t.Errorf("ports by id %v, %v", some, err)
	}
	s.AddTrunk("elsewhere", s.AddPort("elsewhere", far, "", "", "10.2.0.9"))
	trunks, err := client.Trunks(context.Background())
	if err != nil || len(trunks) != 1 || trunks[0].ID != trunk || trunks[0].PortID != parent || !slices.Equal(trunks[0].Subports, []Subport{{PortID: subport}}) {
		t.Errorf("trunks %v, %v", trunks, err)
	}
	if none, err := client.PortsOn(context.Background(), nil); err != nil || none != nil {
		t.Errorf("ports on no network %v, %v", none, err)
	}
	s.AddFloatingIP("garden", "1.2.3.4", "")
	floating, err := client.FloatingIPs(context.Background(), addresses("1.2.3.4", "1.2.3.5"))
	if err != nil || len(floating) != 1 || floating[0].Address != netip.MustParseAddr("1.2.3.4") || floating[0].PortID != "" {
		t.Errorf("floating IPs %v, %v", floating, err)
	}
}
