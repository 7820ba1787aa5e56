// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

const (
	tenant   = "midonetkube"
	zoneID   = "51329ede-9b0f-5923-98ee-bf4ef08af54f"
	chainID  = "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"
	preID    = "901ce55e-dc0c-5ad7-991e-1e28f72223e9"
	routerID = "21607839-c6b4-5b98-8aa1-89a1aab61bca"
	bridgeID = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	bPortID  = "430a6186-91cf-5c7a-8443-44319822637a"
	rPortID  = "034cc5d7-b2d9-55ef-a253-61424c89eb07"
	routeID  = "3b827419-8674-513b-beb9-7c0e7b1b19b6"
	ruleID   = "cb870299-065d-5c6f-9c84-d461359e315e"
	otherID  = "0e646980-2007-550e-bb96-44dc505bd784"
	randomID = "7f1c2f8e-0a53-4a3b-9d65-0d3a6d2f7c11" // of version 4
)

var hostID = fake.HostID("node-a")

// network is a driver on a fake with the host node-a.
type network struct {
	*Backend
	t      *testing.T
	server *fake.Server
	url    string
}

func newNetwork(t *testing.T, options midonet.Options) *network {
	t.Helper()
	server := fake.New(fake.Options{})
	server.AddHost("node-a")
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	options.URL = web.URL + fake.Root
	options.Attempts = 1
	client, err := midonet.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return &network{Backend: New(client, tenant), t: t, server: server, url: options.URL}
}

// wanted are resources of every kind, each behind those it needs.
func wanted() []backend.Item {
	return []backend.Item{
		{Kind: "TunnelZone", Body: `{"id":"` + zoneID + `","name":"DefaultTunnelZone","type":"vxlan"}`},
		{Kind: "TunnelZoneHost", Parent: zoneID, Body: `{"hostId":"` + hostID + `","ipAddress":"192.168.10.11"}`},
		{Kind: "Chain", Body: `{"id":"` + chainID + `","tenantId":"midonetkube","name":"KUBE-MAIN"}`},
		{Kind: "Chain", Body: `{"id":"` + preID + `","tenantId":"midonetkube","name":"KUBE-PRE"}`},
		{Kind: "Router", Body: `{"id":"` + routerID + `","tenantId":"midonetkube","name":"ClusterRouter"}`},
		{Kind: "Bridge", Body: `{"id":"` + bridgeID + `","tenantId":"midonetkube","name":"node-a","inboundFilterId":"` + chainID + `"}`},
		{Kind: "Port", Parent: bridgeID, Body: `{"id":"` + bPortID + `","type":"Bridge"}`},
		{Kind: "Port", Parent: routerID, Body: `{"id":"` + rPortID + `","type":"Router","portSubnet":["10.1.0.1/24"],"portMac":"AC:ca:ba:01:02:03"}`},
		{Kind: "PortLink", Parent: bPortID, Body: `{"portId":null,"peerId":"` + rPortID + `"}`},
		{Kind: "Route", Parent: routerID, Body: `{"id":"` + routeID + `","dstNetworkAddr":"10.1.0.0","dstNetworkLength":24,"srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"nextHopPort":"` + rPortID + `","type":"Normal"}`},
		{Kind: "Rule", Parent: chainID, Body: `{"id":"` + ruleID + `","type":"jump","jumpChainId":"` + preID + `"}`},
		{Kind: "HostInterfacePort", Parent: hostID, Body: `{"hostId":"` + hostID + `","portId":"` + bPortID + `","interfaceName":"midokube-mido"}`},
		{Kind: "MACPort", Parent: bridgeID, Body: `{"macAddr":"AC:ca:ba:00:00:11","portId":"` + bPortID + `"}`},
		{Kind: "IPv4MACPair", Parent: bridgeID, Body: `{"ip":"10.1.0.2","mac":"ac:ca:ba:00:00:11"}`},
	}
}

// item returns the wanted resource of a kind; the last one when there are several.
func item(kind string) backend.Item {
	var found backend.Item
	for _, i := range wanted() {
		if i.Kind == kind {
			found = i
		}
	}
	return found
}

func (n *network) resolve(i backend.Item) backend.Resource {
	n.t.Helper()
	r, err := n.Resolve(i)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// create makes a resource; an ordered one at the head.
func (n *network) create(i backend.Item) backend.Resource {
	n.t.Helper()
	r := n.resolve(i)
	position := 0
	if r.Ordered {
		position = 1
	}
	if err := n.Create(n.t.Context(), r, position); err != nil {
		n.t.Fatalf("%s: %v", r, err)
	}
	return r
}

// fill makes all wanted resources.
func (n *network) fill() {
	n.t.Helper()
	for _, i := range wanted() {
		n.create(i)
	}
}

// get reads a resource that is there.
func (n *network) get(r backend.Resource) backend.Observed {
	n.t.Helper()
	have, found, err := n.Get(n.t.Context(), r)
	if err != nil || !found {
		n.t.Fatalf("%s: found %v, error %v", r, found, err)
	}
	return have
}

func (n *network) isThere(r backend.Resource) bool {
	n.t.Helper()
	_, found, err := n.Get(n.t.Context(), r)
	if err != nil {
		n.t.Fatalf("%s: %v", r, err)
	}
	return found
}

// listed returns the resources of a collection.
func (n *network) listed(c backend.Collection) []backend.Observed {
	n.t.Helper()
	list, err := n.List(n.t.Context(), c)
	if err != nil {
		n.t.Fatal(err)
	}
	return list
}

// manually does what an administrator would do with curl.
func (n *network) manually(method, path, mediaType, body string) {
	n.t.Helper()
	request, err := http.NewRequestWithContext(n.t.Context(), method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/vnd.org.midonet."+mediaType+"+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(response.Body)
		n.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
}

// writes counts the writes that something costs.
func (n *network) writes(do func()) int {
	n.server.ResetRequests()
	do()
	return n.server.Writes()
}

func wantReason(t *testing.T, err error, reason backend.Reason, code int, text string) {
	t.Helper()
	failed, ok := errors.AsType[*backend.Error](err)
	if !ok {
		t.Fatalf("got %v, which is no error of a backend", err)
	}
	if failed.Reason != reason || failed.Code != code || !strings.Contains(failed.Message, text) {
		t.Errorf("got reason %d, code %d, %q; want reason %d, code %d, %q", failed.Reason, failed.Code, failed.Message, reason, code, text)
	}
}

func field(name, value string) string { return fmt.Sprintf("%q:%q", name, value) }
