// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBodiesKeepEverything checks that the typed bodies have all fields that midonet-kube-controllers sends, with the same names.
func TestBodiesKeepEverything(t *testing.T) {
	for _, tc := range []struct{ kind, key, body string }{
		{"TunnelZone", zoneID, `{"id":"` + zoneID + `","name":"DefaultTunnelZone","type":"vxlan"}`},
		{"TunnelZoneHost", zoneID, `{"hostId":"` + zoneID + `","ipAddress":"192.168.10.11"}`},
		{"Router", routerID, `{"id":"` + routerID + `","tenantId":"midonetkube","name":"ClusterRouter"}`},
		{"Bridge", bridgeID, `{"id":"` + bridgeID + `","tenantId":"midonetkube","name":"node-a","inboundFilterId":"` + chainID + `"}`},
		{"Port", rPortID, `{"id":"` + rPortID + `","type":"Router","portSubnet":["10.1.0.1/24"],"portMac":"ac:ca:ba:66:57:0f"}`},
		{"Port", bPortID, `{"id":"` + bPortID + `","type":"Bridge","outboundFilterId":"` + chainID + `"}`},
		{"PortLink", "", `{"portId":null,"peerId":"` + rPortID + `"}`},
		{"Route", routeID, `{"id":"` + routeID + `","dstNetworkAddr":"192.168.10.11","dstNetworkLength":32,"nextHopGateway":"10.1.0.2","nextHopPort":"` + rPortID + `","srcNetworkAddr":"0.0.0.0","srcNetworkLength":0,"type":"Normal"}`},
		{"Chain", chainID, `{"id":"` + chainID + `","tenantId":"midonetkube","name":"KUBE-MAIN"}`},
		{"Rule", ruleID, `{"id":"` + ruleID + `","type":"jump","dlType":2048,"nwDstAddress":"10.96.0.10","nwDstLength":32,"nwProto":17,"tpDst":{"start":53,"end":53},"jumpChainId":"` + chainID + `"}`},
		{"Rule", ruleID, `{"id":"` + ruleID + `","type":"snat","dlType":2048,"nwSrcAddress":"10.1.0.2","nwSrcLength":32,"flowAction":"continue","natTargets":[{"addressFrom":"10.1.0.1","addressTo":"10.1.0.1","portFrom":30000,"portTo":60000}]}`},
		{"HostInterfacePort", bPortID, `{"hostId":"` + zoneID + `","portId":"` + bPortID + `","interfaceName":"midokube-mido"}`},
		{"MACPort", "0a-58-0a-01-00-05_" + bPortID, `{"macAddr":"0a:58:0a:01:00:05","portId":"` + bPortID + `"}`},
		{"IPv4MACPair", "10.1.0.5_0a-58-0a-01-00-05", `{"ip":"10.1.0.5","mac":"0a:58:0a:01:00:05"}`},
	} {
		k, _ := KindNamed(tc.kind)
		b, err := k.Decode([]byte(tc.body))
		if err != nil {
			t.Error(err)
			continue
		}
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if json.Unmarshal(data, &got) != nil || json.Unmarshal([]byte(tc.body), &want) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s comes back as %s", tc.body, data)
		}
		if b.Key() != tc.key {
			t.Errorf("%s has key %q, want %q", tc.body, b.Key(), tc.key)
		}
	}
}

func TestNewResourceRejects(t *testing.T) {
	for _, tc := range []struct{ kind, parent, body, wrong string }{
		{"Firewall", "", `{}`, "not one of MidoNet's"},
		{"Chain", "", `{`, "body of Chain"},
		{"Chain", "", `{}`, "id"},
		{"Chain", "", `{"ID":"` + chainID + `"}`, "id"},
		{"Chain", "", `{"id":"` + strings.ToUpper(chainID) + `"}`, "lower-case UUID"},
		{"Chain", bridgeID, `{"id":"` + chainID + `"}`, "stands alone"},
		{"Rule", "", `{"id":"` + ruleID + `"}`, "parent of Rule"},
		{"Rule", "../x", `{"id":"` + ruleID + `"}`, "parent of Rule"},
		{"Port", bridgeID, `{"id":"` + bPortID + `"}`, "type"},
		{"Port", bridgeID, `{"id":"` + bPortID + `","type":"Vxlan"}`, "Vxlan"},
		{"MACPort", bridgeID, `{"macAddr":"../..","portId":"` + bPortID + `"}`, "macAddr"},
		{"MACPort", bridgeID, `{"macAddr":"0a:58:0a:01:00:05:06:07","portId":"` + bPortID + `"}`, "macAddr"},
		{"IPv4MACPair", bridgeID, `{"ip":"2001:db8::1","mac":"0a:58:0a:01:00:05"}`, "ip"},
	} {
		if _, err := NewResource(tc.kind, tc.parent, tc.body); err == nil || !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s %s: error %v, want one with %q", tc.kind, tc.body, err, tc.wrong)
		}
	}
}

// TestBodyIsKept checks that a body is sent unchanged, including unknown fields.
func TestBodyIsKept(t *testing.T) {
	body := `{"id":"` + bPortID + `", "type":"Bridge","vlanId":7}`
	if r := resource(t, "Port", bridgeID, body); string(r.Body) != body {
		t.Errorf("body is %s, want %s", r.Body, body)
	}
}

// FuzzNewResource checks that any content of a Translation is rejected or becomes a resource whose path cannot leave its
// collection.
func FuzzNewResource(f *testing.F) {
	for _, k := range Kinds() {
		f.Add(k.Name, bridgeID, `{"id":"`+chainID+`","type":"Bridge","hostId":"`+chainID+`","portId":"`+bPortID+`","peerId":"`+bPortID+`","macAddr":"0a:58:0a:01:00:05","ip":"10.0.0.1","mac":"0a:58:0a:01:00:05"}`)
		f.Add(k.Name, "", `{"id":"`+chainID+`"}`)
	}
	f.Fuzz(func(t *testing.T, kind, parent, body string) {
		r, err := NewResource(kind, parent, body)
		if err != nil {
			return
		}
		k, _ := KindNamed(kind)
		path, err := k.itemPath(r.Parent, r.ID)
		if err != nil {
			t.Fatalf("%s of %s has no path: %v", r.Ref, body, err)
		}
		if strings.Count(path, "/") != strings.Count(k.item, "/") || strings.Contains(path, "..") || strings.Contains(path, "%") {
			t.Errorf("%s has path %s", body, path)
		}
	})
}

// FuzzDecodeToken checks that any response to a login results in an error or in a token that is valid in a header.
func FuzzDecodeToken(f *testing.F) {
	f.Add([]byte(`{"key":"k","expires":"2026-07-02T20:09:01Z"}`))
	f.Add([]byte(`{"key":"k","expires":1783022941000}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if token, _, err := decodeToken(data); err == nil && (token == "" || strings.ContainsAny(token, "\r\n ")) {
			t.Errorf("%q gives token %q", data, token)
		}
	})
}

// FuzzMessage checks that the message of any response is short, valid, on one line, and without the secret.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"message":"token s3cret is bad","code":401}`))
	f.Add([]byte("<html>\xff\n" + strings.Repeat("ä", 2000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := message(data, "s3cret", "")
		if len(got) > messageLimit+3 || strings.ContainsAny(got, "\r\n") || !utf8.ValidString(got) || strings.Contains(got, "s3cret") {
			t.Errorf("%q gives %q", data, got)
		}
	})
}
