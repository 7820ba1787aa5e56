// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestInvalidElements checks that an element of a list that cannot be parsed does not hide others.
func TestInvalidElements(t *testing.T) {
	for name, tc := range map[string]struct {
		element string
		// id is what is known of it.
		id      string
		invalid bool
	}{
		"id is no UUID":            {`{"id":"mine","name":"x"}`, "mine", true},
		"id in capitals":           {`{"id":"` + strings.ToUpper(bPortID) + `","type":"Bridge"}`, bPortID, true},
		"no id":                    {`{}`, "", true},
		"null":                     {`null`, "", true},
		"no object":                {`"` + bPortID + `"`, "", true},
		"field of another type":    {`{"id":"` + bPortID + `","type":"Bridge","portSubnet":{"a":1}}`, bPortID, true},
		"unknown field":            {`{"id":"` + bPortID + `","type":"Bridge","colour":"red"}`, bPortID, false},
		"type of a future version": {`{"id":"` + bPortID + `","type":"Vxlan"}`, bPortID, false},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`[` + tc.element + `,{"id":"` + chainID + `","type":"Bridge"}]`))
			}))
			defer web.Close()
			c, err := New(Options{URL: web.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.List(t.Context(), Query{Kind: "Port", ParentKind: "Bridge", Parent: bridgeID})
			if err != nil || len(got) != 2 {
				t.Fatalf("list = %v, error %v", got, err)
			}
			want := Ref{Kind: "Port", Parent: bridgeID, ID: tc.id}
			if got[0].Ref != want || (got[0].Invalid != nil) != tc.invalid {
				t.Errorf("element = %v, invalid: %v; want %v, %v", got[0].Ref, got[0].Invalid, want, tc.invalid)
			}
			if got[1].ID != chainID || got[1].Invalid != nil {
				t.Errorf("the other element = %v, invalid: %v", got[1].Ref, got[1].Invalid)
			}
		})
	}
}

// TestInvalidHosts checks that a host that cannot be parsed is omitted, unless its name is known: a Node of that name must not
// consider it absent.
func TestInvalidHosts(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"id":"` + bPortID + `","name":"node-a","alive":true},{"id":"x","name":"node-b"},{"id":"` + chainID + `","name":7},null]`))
	}))
	defer web.Close()
	c, err := New(Options{URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := c.Hosts(t.Context())
	if err != nil || len(hosts) != 2 {
		t.Fatalf("hosts = %v, error %v", hosts, err)
	}
	if hosts[0] != (Host{ID: bPortID, Name: "node-a", Alive: true}) || hosts[1] != (Host{Name: "node-b"}) {
		t.Errorf("hosts = %v", hosts)
	}
}
