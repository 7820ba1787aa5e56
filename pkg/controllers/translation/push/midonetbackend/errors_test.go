// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// TestRejections checks the classification of the server's rejections.
func TestRejections(t *testing.T) {
	at := func(kind string, edit ...string) backend.Item {
		i := item(kind)
		i.Body = strings.NewReplacer(edit...).Replace(i.Body)
		i.Parent = strings.NewReplacer(edit...).Replace(i.Parent)
		return i
	}
	for name, tc := range map[string]struct {
		empty  bool
		item   backend.Item
		reason backend.Reason
		code   int
	}{
		"an id that is taken":             {false, at("Chain"), backend.Conflict, 409},
		"a name that is taken":            {false, at("TunnelZone", zoneID, otherID), backend.Conflict, 409},
		"a missing parent":                {true, at("Rule"), backend.NotFound, 404},
		"a missing chain to jump to":      {false, at("Rule", preID, otherID, ruleID, routeID), backend.NotFound, 404},
		"a missing filter":                {true, at("Bridge"), backend.NotFound, 404},
		"a missing peer":                  {false, at("PortLink", rPortID, otherID), backend.NotFound, 404},
		"a link that is there":            {false, at("PortLink"), backend.Conflict, 409},
		"a binding that is there":         {false, at("HostInterfacePort"), backend.Conflict, 409},
		"an entry of a MAC table":         {false, at("MACPort"), backend.Conflict, 500},
		"an entry of an ARP table":        {false, at("IPv4MACPair"), backend.Conflict, 500},
		"an ARP table without its bridge": {true, at("IPv4MACPair"), backend.Conflict, 500},
		"a port of another bridge":        {false, at("MACPort", bPortID, rPortID), backend.Refused, 400},
		"a next hop that is missing":      {false, at("Route", rPortID, otherID, routeID, zoneID), backend.NotFound, 400},
		"a next hop of another router":    {false, at("Route", rPortID, bPortID, routeID, zoneID), backend.Refused, 400},
		"a route that is wrong":           {false, at("Route", "10.1.0.0", "10.1", routeID, zoneID), backend.Refused, 400},
		"an unknown field":                {true, at("Chain", `"name"`, `"nam"`), backend.Refused, 400},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, midonet.Options{})
			if !tc.empty {
				n.fill()
			}
			r := n.resolve(tc.item)
			wantReason(t, n.Create(t.Context(), r, 1), tc.reason, tc.code, "")
		})
	}
}

// TestFaults checks that a server that fails, is busy or unavailable, or rejects the user implies nothing about the resource.
func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  fake.Fault
		reason backend.Reason
		code   int
		text   string
	}{
		"broken":        {fake.Fault{Status: 500, Message: "it is broken"}, backend.Transient, 500, "it is broken"},
		"busy":          {fake.Fault{Status: 503}, backend.Transient, 503, "503"},
		"too much":      {fake.Fault{Status: 429}, backend.Transient, 429, "429"},
		"away":          {fake.Fault{Cut: fake.CutRequest}, backend.Transient, 0, "EOF"},
		"response lost": {fake.Fault{Cut: fake.CutResponse}, backend.Transient, 0, "EOF"},
		"unauthorized":  {fake.Fault{Status: 401}, backend.Transient, 401, "passwordFile"},
		"forbidden":     {fake.Fault{Status: 403, Message: "not you"}, backend.Transient, 403, "not you"},
		"elsewhere":     {fake.Fault{Status: 302}, backend.Transient, 302, "redirects"},
		"wrong media":   {fake.Fault{Status: 415}, backend.Refused, 415, "415"},
		"gone":          {fake.Fault{Status: 410}, backend.Refused, 410, "410"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, midonet.Options{})
			if err := n.server.Inject(tc.fault); err != nil {
				t.Fatal(err)
			}
			chain := n.resolve(item("Chain"))
			wantReason(t, n.Create(t.Context(), chain, 0), tc.reason, tc.code, tc.text)
			wantReason(t, n.Delete(t.Context(), chain.Ref), tc.reason, tc.code, tc.text)
			_, found, err := n.Get(t.Context(), chain)
			wantReason(t, err, tc.reason, tc.code, tc.text)
			if found {
				t.Error("an error is no find")
			}
			_, err = n.List(t.Context(), backend.Collection{Kind: "Chain"})
			wantReason(t, err, tc.reason, tc.code, tc.text)
			binding := n.resolve(item("HostInterfacePort"))
			wantReason(t, n.Delete(t.Context(), binding.Ref), tc.reason, tc.code, tc.text)
		})
	}
}

// TestFenced checks that a process that is not allowed to write sends no writes, and continues to read.
func TestFenced(t *testing.T) {
	lost := errors.New("the Lease is another client's")
	n := newNetwork(t, midonet.Options{BeforeWrite: func() error { return lost }})
	chain := n.resolve(item("Chain"))
	for what, err := range map[string]error{
		"create": n.Create(t.Context(), chain, 0),
		"update": n.Update(t.Context(), n.resolve(item("Bridge"))),
		"delete": n.Delete(t.Context(), chain.Ref),
	} {
		if wantReason(t, err, backend.Fenced, 0, lost.Error()); !errors.Is(err, lost) {
			t.Errorf("%s: %v is not the fence's", what, err)
		}
	}
	if n.isThere(chain) || n.server.Writes() > 0 {
		t.Errorf("%d writes", n.server.Writes())
	}
}

// TestDeleteBindingOfAnotherHost checks that the binding of a port to another host is not deleted, although the server would allow
// it.
func TestDeleteBindingOfAnotherHost(t *testing.T) {
	n := newNetwork(t, midonet.Options{})
	n.fill()
	other := n.server.AddHost("node-b")
	ref, err := n.Locate("HostInterfacePort", other, bPortID)
	if err != nil {
		t.Fatal(err)
	}
	if writes := n.writes(func() {
		if err := n.Delete(t.Context(), ref); err != nil {
			t.Error(err)
		}
	}); writes > 0 || !n.isThere(n.resolve(item("HostInterfacePort"))) {
		t.Errorf("%d writes, and the binding is there: %v", writes, n.isThere(n.resolve(item("HostInterfacePort"))))
	}
}

// TestUpdateZone checks that the name of a tunnel zone can be updated, and that other updates are not tried.
func TestUpdateZone(t *testing.T) {
	zone := func(name, kind string) backend.Item {
		return backend.Item{Kind: "TunnelZone", Body: fmt.Sprintf(`{"id":%q,"name":%q,"type":%q}`, zoneID, name, kind)}
	}
	n := newNetwork(t, midonet.Options{})
	missing := n.resolve(zone("a", "vxlan"))
	wantReason(t, n.Update(t.Context(), missing), backend.NotFound, http.StatusNotFound, "deleted")
	n.create(zone("a", "vxlan"))
	n.create(backend.Item{Kind: "TunnelZone", Body: `{"id":"` + otherID + `","name":"taken","type":"gre"}`})
	for _, tc := range []struct {
		name   string
		zone   backend.Item
		writes int
		reason backend.Reason
		code   int
		text   string
	}{
		{"unchanged", zone("a", "vxlan"), 0, -1, 0, ""},
		{"another type", zone("a", "gre"), 0, backend.Refused, 0, "change it manually"},
		{"the name of another", zone("taken", "vxlan"), 1, backend.Conflict, 409, "taken"},
		{"another name", zone("b", "vxlan"), 1, -1, 0, ""},
		{"another name and type", zone("c", "gre"), 1, -1, 0, ""},
	} {
		var err error
		r := n.resolve(tc.zone)
		if writes := n.writes(func() { err = n.Update(t.Context(), r) }); writes != tc.writes {
			t.Errorf("%s: %d writes", tc.name, writes)
		}
		if tc.reason >= 0 {
			wantReason(t, err, tc.reason, tc.code, tc.text)
			continue
		}
		if err != nil || len(n.Differences(r, n.get(r))) > 0 {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestMessagesAreStable checks that the message of a broken connection is the same each time.
func TestMessagesAreStable(t *testing.T) {
	broken := func(port int) error {
		return failure(&midonet.Error{Op: "create", Err: fmt.Errorf("the response broke off: %w", &net.OpError{
			Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port},
			Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 8181}, Err: syscall.ECONNRESET,
		})})
	}
	wantReason(t, broken(40001), backend.Transient, 0, "10.0.0.2:8181: connection reset")
	if a, b := broken(40001).Error(), broken(40002).Error(); a != b {
		t.Errorf("%q and %q", a, b)
	}
}
