// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
)

func networks(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestDenied(t *testing.T) {
	server := networks("10.96.0.1/32", "192.0.2.10/32")
	none := Addresses{Deny: server}
	listed := Addresses{Deny: server, Allow: networks("10.0.0.0/8", "127.0.0.0/24", "0.0.0.0/0"), Exceptions: true}
	excepted := Addresses{Deny: server, Allow: networks("10.1.0.0/16", "169.254.20.0/24", "192.0.2.10/32"), Exceptions: true}
	confined := excepted
	confined.Exceptions = false
	for name, tc := range map[string]struct {
		addresses Addresses
		address   string
		want      string
	}{
		"any":                              {none, "10.1.2.3", ""},
		"any of IPv6":                      {none, "2001:db8::1", ""},
		"loopback":                         {none, "127.0.0.53", deniedSpecial},
		"loopback of IPv6":                 {none, "::1", deniedSpecial},
		"loopback, mapped":                 {none, "::ffff:127.0.0.1", deniedSpecial},
		"link-local with a zone":           {none, "fe80::1%eth0", deniedSpecial},
		"metadata":                         {none, "169.254.169.254", deniedSpecial},
		"metadata of IPv6":                 {none, "fd00:ec2::254", deniedSpecial},
		"unspecified":                      {none, "0.0.0.0", deniedSpecial},
		"the API server":                   {none, "192.0.2.10", deniedAPIServer},
		"the API server, mapped":           {none, "::ffff:192.0.2.10", deniedAPIServer},
		"no address":                       {none, "example.com", deniedInvalid},
		"listed":                           {listed, "10.9.9.9", ""},
		"the API server in a larger list":  {listed, "10.96.0.1", deniedAPIServer},
		"loopback in a list of all":        {listed, "127.0.1.1", deniedSpecial},
		"loopback, excepted":               {listed, "127.0.0.1", ""},
		"not listed":                       {excepted, "10.2.0.1", deniedAllow},
		"link-local, excepted":             {excepted, "169.254.20.7", ""},
		"link-local, not excepted":         {excepted, "169.254.169.254", deniedSpecial},
		"the API server, excepted":         {excepted, "192.0.2.10", ""},
		"link-local of a confined backend": {confined, "169.254.20.7", deniedSpecial},
	} {
		if got := tc.addresses.Denied(tc.address); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for name, want := range map[string]string{
		"example.com": "", "LOCALHOST.": deniedName, "kubernetes.default.svc.cluster.local": deniedName, "127.0.0.1": deniedSpecial, "kubernetes.io": "",
		"web.shop.svc.cluster.local.": deniedName, "web.shop.svc": deniedName, "svc.example.com": "",
	} {
		if got := none.DeniedName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestFilter checks that denied endpoints are omitted, and that the source is not changed.
func TestFilter(t *testing.T) {
	endpoint := func(addresses ...string) discoveryv1.Endpoint { return discoveryv1.Endpoint{Addresses: addresses} }
	source := &Source{Name: "web", Slices: []Slice{
		{ID: "a", AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{endpoint("10.0.0.1"), endpoint("127.0.0.1"), endpoint("10.0.0.2")}},
		{ID: "b", AddressType: discoveryv1.AddressTypeFQDN, Endpoints: []discoveryv1.Endpoint{endpoint("localhost"), endpoint("example.com")}},
	}}
	filtered, denied := (&Addresses{}).Filter(source)
	if diff := cmp.Diff([]Denial{{"127.0.0.1", deniedSpecial}, {"localhost", deniedName}}, denied); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Slice{
		{ID: "a", AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{endpoint("10.0.0.1"), endpoint("10.0.0.2")}},
		{ID: "b", AddressType: discoveryv1.AddressTypeFQDN, Endpoints: []discoveryv1.Endpoint{endpoint("example.com")}},
	}, filtered.Slices); diff != "" {
		t.Error(diff)
	}
	if len(source.Slices[0].Endpoints) != 3 || len(source.Slices[1].Endpoints) != 2 {
		t.Error("the source was changed")
	}
	if again, denied := (&Addresses{}).Filter(filtered); again != filtered || denied != nil {
		t.Error("a source without denied addresses was copied")
	}
	if filtered, denied := (&Addresses{}).Filter(&Source{ExternalName: "localhost"}); filtered != nil || len(denied) != 1 {
		t.Errorf("%v, %v", filtered, denied)
	}
}
