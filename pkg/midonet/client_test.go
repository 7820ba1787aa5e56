// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

const (
	zoneID   = "51329ede-9b0f-5923-98ee-bf4ef08af54f"
	chainID  = "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"
	preID    = "901ce55e-dc0c-5ad7-991e-1e28f72223e9"
	routerID = "21607839-c6b4-5b98-8aa1-89a1aab61bca"
	bridgeID = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	bPortID  = "430a6186-91cf-5c7a-8443-44319822637a"
	rPortID  = "034cc5d7-b2d9-55ef-a253-61424c89eb07"
	routeID  = "3b827419-8674-513b-beb9-7c0e7b1b19b6"
	ruleID   = "cb870299-065d-5c6f-9c84-d461359e315e"
)

// connect returns a client of a fake with the host node-a. It notes pauses instead of making them.
func connect(t *testing.T, f fake.Options, o Options) (*fake.Server, *Client, *[]time.Duration) {
	t.Helper()
	server := fake.New(f)
	server.AddHost("node-a")
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	o.URL = web.URL + fake.Root
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return server, c, noPauses(c)
}

// noPauses makes the client continue immediately, and never spreads its pauses.
func noPauses(c *Client) *[]time.Duration {
	var pauses []time.Duration
	c.random = func() float64 { return 0 }
	c.pause = func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}
	return &pauses
}

// resource makes a resource or ends the test.
func resource(t *testing.T, kind, parent, body string) Resource {
	t.Helper()
	r, err := NewResource(kind, parent, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The resources of a node, of every kind that the converters write, can be created, read and deleted.
func TestEveryKind(t *testing.T) {
	host := fake.HostID("node-a")
	server, c, _ := connect(t, fake.Options{Username: "admin", Password: "open"}, Options{Credentials: Credentials{Username: "admin", Password: "open"}})
	resources := []Resource{
		resource(t, "TunnelZone", "", `{"id":"`+zoneID+`","name":"DefaultTunnelZone","type":"vxlan"}`),
		resource(t, "TunnelZoneHost", zoneID, `{"hostId":"`+host+`","ipAddress":"192.168.10.11"}`),
		resource(t, "Chain", "", `{"id":"`+chainID+`","tenantId":"midonetkube","name":"KUBE-MAIN"}`),
		resource(t, "Chain", "", `{"id":"`+preID+`","tenantId":"midonetkube","name":"KUBE-PRE"}`),
		resource(t, "Rule", chainID, `{"id":"`+ruleID+`","type":"jump","jumpChainId":"`+preID+`"}`),
		resource(t, "Router", "", `{"id":"`+routerID+`","tenantId":"midonetkube","name":"ClusterRouter"}`),
		resource(t, "Bridge", "", `{"id":"`+bridgeID+`","tenantId":"midonetkube","name":"node-a","inboundFilterId":"`+chainID+`"}`),
		resource(t, "Port", bridgeID, `{"id":"`+bPortID+`","type":"Bridge"}`),
		resource(t, "Port", routerID, `{"id":"`+rPortID+`","type":"Router","portSubnet":["10.1.0.1/24"],"portMac":"ac:ca:ba:66:57:0f"}`),
		resource(t, "Route", routerID, `{"id":"`+routeID+`","dstNetworkAddr":"10.1.0.0","dstNetworkLength":24,"nextHopPort":"`+rPortID+`","srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"type":"Normal"}`),
		resource(t, "PortLink", bPortID, `{"portId":null,"peerId":"`+rPortID+`"}`),
		resource(t, "HostInterfacePort", host, `{"hostId":"`+host+`","portId":"`+bPortID+`","interfaceName":"midokube-mido"}`),
		resource(t, "MACPort", bridgeID, `{"macAddr":"ac:ca:ba:00:00:11","portId":"`+bPortID+`"}`),
		resource(t, "IPv4MACPair", bridgeID, `{"ip":"10.1.0.2","mac":"ac:ca:ba:00:00:11"}`),
	}
	for _, r := range resources {
		k, _ := KindNamed(r.Kind)
		if err := c.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if k.Has(Get) {
			if got, err := c.Get(t.Context(), r.Ref); err != nil || got.Ref != r.Ref {
				t.Errorf("%s reads as %v, %v", r.Ref, got.Ref, err)
			}
		}
		if k.Has(Update) && r.Kind != "TunnelZone" { // a zone's own name is in use
			if err := c.Update(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		if k.Has(List) {
			parentKind := ""
			if parents := k.ParentKinds(); len(parents) > 0 {
				parentKind = parents[0]
			}
			if r.ID == rPortID {
				parentKind = "Router"
			}
			got, err := c.List(t.Context(), Query{Kind: r.Kind, ParentKind: parentKind, Parent: r.Parent})
			if err != nil || !slices.ContainsFunc(got, func(l Resource) bool { return l.Ref == r.Ref }) {
				t.Errorf("%s is not in the list %v, %v", r.Ref, got, err)
			}
		}
	}
	if got := server.Rejections(); len(got) > 0 {
		t.Errorf("the server rejected %v", got)
	}
	for _, r := range slices.Backward(resources) {
		if err := c.Delete(t.Context(), r.Ref); err != nil {
			t.Error(err)
		}
		if k, _ := KindNamed(r.Kind); k.Has(Get) {
			if _, err := c.Get(t.Context(), r.Ref); !IsNotFound(err) {
				t.Errorf("%s is still there: %v", r.Ref, err)
			}
		}
	}
	if got := server.Content(); len(got) != 1 {
		t.Errorf("%v is left, want the host alone", got)
	}
}

func TestListsOfTenantsAndHosts(t *testing.T) {
	_, c, _ := connect(t, fake.Options{}, Options{})
	for id, tenant := range map[string]string{chainID: "a", preID: "b"} {
		if err := c.Create(t.Context(), resource(t, "Chain", "", `{"id":"`+id+`","tenantId":"`+tenant+`"}`)); err != nil {
			t.Fatal(err)
		}
	}
	chains, err := c.List(t.Context(), Query{Kind: "Chain", Tenant: "b"})
	if err != nil || len(chains) != 1 || chains[0].ID != preID {
		t.Errorf("chains of b are %v, %v", chains, err)
	}
	hosts, err := c.Hosts(t.Context())
	if err != nil || len(hosts) != 1 || hosts[0] != (Host{ID: fake.HostID("node-a"), Name: "node-a", Alive: true}) {
		t.Errorf("hosts are %v, %v", hosts, err)
	}
}

// TestNotSent checks that a request for which the API has no method is rejected without being sent.
func TestNotSent(t *testing.T) {
	server, c, _ := connect(t, fake.Options{}, Options{})
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"unknown kind":        func() error { return c.Delete(ctx, Ref{Kind: "Firewall", ID: chainID}) },
		"PUT where none is":   func() error { return c.Update(ctx, Resource{Ref: Ref{Kind: "Chain", ID: chainID}}) },
		"GET of a link":       func() error { _, err := c.Get(ctx, Ref{Kind: "PortLink", Parent: bPortID}); return err },
		"POST of a host":      func() error { return c.Create(ctx, Resource{Ref: Ref{Kind: "Host"}, Body: []byte(`{}`)}) },
		"DELETE without id":   func() error { return c.Delete(ctx, Ref{Kind: "Chain"}) },
		"way out of the path": func() error { return c.Delete(ctx, Ref{Kind: "Chain", ID: "../routers"}) },
		"id of dots":          func() error { return c.Delete(ctx, Ref{Kind: "Chain", ID: ".."}) },
		"parent of dots":      func() error { return c.Delete(ctx, Ref{Kind: "MACPort", Parent: "..", ID: "x"}) },
		"no parent":           func() error { _, err := c.List(ctx, Query{Kind: "Rule"}); return err },
		"wrong parent": func() error {
			_, err := c.List(ctx, Query{Kind: "Rule", ParentKind: "Bridge", Parent: bridgeID})
			return err
		},
		"tenant of rules": func() error {
			_, err := c.List(ctx, Query{Kind: "Rule", ParentKind: "Chain", Parent: chainID, Tenant: "t"})
			return err
		},
		"broken body": func() error { return c.Create(ctx, Resource{Ref: Ref{Kind: "Chain"}, Body: []byte(`{`)}) },
		"list of links": func() error {
			_, err := c.List(ctx, Query{Kind: "PortLink", ParentKind: "Port", Parent: bPortID})
			return err
		},
	} {
		if err := call(); !errors.Is(err, errRejected) || IsTransient(err) {
			t.Errorf("%s: %v, want a rejection permanently", name, err)
		}
	}
	if got := server.Requests(); len(got) > 0 {
		t.Errorf("the server was queried %v", got)
	}
}

// TestBrokenResponses checks that an incomplete list is an error, never a shorter list.
func TestBrokenResponses(t *testing.T) {
	for name, response := range map[string]string{"not a list": `{}`, "null": `null`, "cut": `[{"id":"` + chainID + `"}`, "empty": ``} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(response)) }))
		c, err := New(Options{URL: web.URL})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.List(t.Context(), Query{Kind: "Chain"}); err == nil || got != nil {
			t.Errorf("%s: list %v, %v, want an error", name, got, err)
		}
		if _, err := c.Get(t.Context(), Ref{Kind: "Chain", ID: chainID}); err == nil {
			t.Errorf("%s: get succeeds", name)
		}
		web.Close()
	}
}
