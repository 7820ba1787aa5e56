// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// TestWithPosition checks that only the position is added to the body of a rule, and that everything else remains as written.
func TestWithPosition(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{`{"id":"x","b":1.50,"a":9007199254740993}`, `{"id":"x","b":1.50,"a":9007199254740993,"position":7}`},
		{`{ "id" : "}" } `, `{ "id" : "}" ,"position":7}`},
		{`{}`, `{"position":7}`},
		{`{"position":3,"id":"x","big":1e400}`, `{"big":1e400,"id":"x","position":7}`},
	} {
		got, err := withPosition(json.RawMessage(tc.body), 7)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s became %s, %v; want %s", tc.body, got, err, tc.want)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `null`} {
		if got, err := withPosition(json.RawMessage(body), 1); err == nil {
			t.Errorf("%q became %s", body, got)
		}
	}
}

// TestCopy checks that a copy is the same resource with another, stable id, and that the original does not change.
func TestCopy(t *testing.T) {
	b := New(nil, tenant)
	for _, kind := range []string{"Rule", "Route"} {
		original, err := b.Resolve(item(kind))
		if err != nil {
			t.Fatal(err)
		}
		body := string(original.Body)
		copied := b.Copy(original)
		if string(original.Body) != body || original.ID == copied.ID {
			t.Errorf("%s: the copy is no other: %s, %s", kind, original.ID, copied.ID)
		}
		if diff := cmp.Diff(copied, b.Copy(original)); diff != "" {
			t.Errorf("%s: a second copy differs: %s", kind, diff)
		}
		resolved, err := b.Resolve(backend.Item{Kind: kind, Parent: copied.Parent, Body: string(copied.Body)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(resolved, copied); diff != "" {
			t.Errorf("%s: the body does not match the copy: %s", kind, diff)
		}
		if got := b.Differences(original, backend.Observed{Ref: copied.Ref, Body: copied.Body}); !cmp.Equal(got, []string{"id"}) {
			t.Errorf("%s: the copy differs in %v", kind, got)
		}
	}
}

func TestDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, want, have string
		differ           []string
	}{
		"equal":                      {"Chain", `{"a":1,"b":"x"}`, `{"b":"x","a":1}`, nil},
		"more on the server":         {"Chain", `{"a":1}`, `{"a":1,"adminStateUp":true,"list":[1]}`, nil},
		"changed":                    {"Chain", `{"a":1,"b":"x"}`, `{"a":2,"b":"y"}`, []string{"a", "b"}},
		"missing":                    {"Chain", `{"a":1,"b":"x"}`, `{"b":"x"}`, []string{"a"}},
		"null on the server":         {"Chain", `{"name":"x"}`, `{"name":null}`, []string{"name"}},
		"null requests nothing":      {"Chain", `{"name":null}`, `{"name":"x"}`, nil},
		"null and absent":            {"Chain", `{"name":null}`, `{}`, nil},
		"zero and absent":            {"Route", `{"weight":0,"learned":false,"attributes":"","x":[],"y":{}}`, `{}`, nil},
		"zero and something":         {"Route", `{"weight":0,"learned":false,"attributes":"","x":[],"y":{}}`, `{"weight":1,"learned":true,"attributes":"a","x":[1],"y":1}`, []string{"attributes", "learned", "weight", "x", "y"}},
		"something and zero":         {"Route", `{"weight":1}`, `{"weight":0}`, []string{"weight"}},
		"spelling of numbers":        {"Route", `{"a":100,"b":1.5}`, `{"a":1e2,"b":1.50}`, nil},
		"large numbers":              {"Route", `{"a":9007199254740993}`, `{"a":9007199254740992}`, []string{"a"}},
		"huge numbers":               {"Route", `{"a":1e999999999}`, `{"a":1e999999998}`, []string{"a"}},
		"a number is no text":        {"Route", `{"a":1}`, `{"a":"1"}`, []string{"a"}},
		"case of a MAC address":      {"MACPort", `{"macAddr":"AC:CA:BA:00:00:11"}`, `{"macAddr":"ac:ca:ba:00:00:11"}`, nil},
		"another MAC address":        {"MACPort", `{"macAddr":"AC:CA:BA:00:00:11"}`, `{"macAddr":"ac:ca:ba:00:00:12"}`, []string{"macAddr"}},
		"case of an id":              {"Rule", `{"jumpChainId":"23B6F94B-2FB5-55B0-9614-3CBB6D6DC17F"}`, `{"jumpChainId":"23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"}`, nil},
		"case of a name":             {"Chain", `{"name":"KUBE"}`, `{"name":"kube"}`, []string{"name"}},
		"subnets":                    {"Port", `{"portSubnet":["10.1.0.1/24"]}`, `{"portSubnet":["10.1.0.1/24"]}`, nil},
		"another subnet":             {"Port", `{"portSubnet":["10.1.0.1/24"]}`, `{"portSubnet":["10.1.0.1/16"]}`, []string{"portSubnet"}},
		"a subnet more":              {"Port", `{"portSubnet":["10.1.0.1/24"]}`, `{"portSubnet":["10.1.0.1/24","10.2.0.1/24"]}`, []string{"portSubnet"}},
		"targets":                    {"Rule", `{"natTargets":[{"addressFrom":"10.1.0.1","portFrom":80}]}`, `{"natTargets":[{"portFrom":80,"addressFrom":"10.1.0.1","x":1}]}`, nil},
		"another target":             {"Rule", `{"natTargets":[{"addressFrom":"10.1.0.1","portFrom":80}]}`, `{"natTargets":[{"addressFrom":"10.1.0.1","portFrom":81}]}`, []string{"natTargets"}},
		"no targets":                 {"Rule", `{"natTargets":[{"addressFrom":"10.1.0.1"}]}`, `{}`, []string{"natTargets"}},
		"ports":                      {"Rule", `{"tpDst":{"start":80,"end":80}}`, `{"tpDst":{"start":80,"end":90}}`, []string{"tpDst"}},
		"position":                   {"Rule", `{"position":1,"chainId":"x"}`, `{"position":4,"chainId":"y"}`, nil},
		"what the server sets":       {"Port", `{"hostId":"x","peerId":"y","interfaceName":"z"}`, `{"hostId":"a"}`, nil},
		"the host of a binding":      {"HostInterfacePort", `{"hostId":"x"}`, `{"hostId":"a"}`, []string{"hostId"}},
		"a link's own port":          {"PortLink", `{"portId":"x","peerId":"y"}`, `{"peerId":"y"}`, nil},
		"a link elsewhere":           {"PortLink", `{"portId":null,"peerId":"y"}`, `{"peerId":"z"}`, []string{"peerId"}},
		"a broken response":          {"Chain", `{"a":1}`, `[]`, []string{"body"}},
		"a broken body":              {"Chain", `{"a":1}x`, `{"a":1}`, []string{"body"}},
		"an object is no text":       {"Chain", `{"a":{"b":1}}`, `{"a":"b"}`, []string{"a"}},
		"a list is no object":        {"Chain", `{"a":[1]}`, `{"a":{"b":1}}`, []string{"a"}},
		"true is not false":          {"Bridge", `{"adminStateUp":true}`, `{"adminStateUp":false}`, []string{"adminStateUp"}},
		"a network is no address":    {"Port", `{"portSubnet":["10.1.0.1/24"]}`, `{"portSubnet":["10.1.0.1"]}`, []string{"portSubnet"}},
		"an id is no other's prefix": {"Rule", `{"jumpChainId":"23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"}`, `{"jumpChainId":"x"}`, []string{"jumpChainId"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := backend.Resource{Ref: backend.Ref{Key: backend.Key{Kind: tc.kind}}, Body: json.RawMessage(tc.want)}
			got := New(nil, tenant).Differences(want, backend.Observed{Body: json.RawMessage(tc.have)})
			if diff := cmp.Diff(tc.differ, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
