// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestDNSName(t *testing.T) {
	long := strings.Repeat("a", 250)
	for _, test := range []struct{ name, want string }{
		{"foo.bar", "foo.bar"},
		{"Foo.Bar", "foo.bar-84625620bc9d2c2a323e78a21663b3b1efe9c35f"},
		{"foo/bar", "foo-bar-17cdeaefa5cc6022481c824e15a47a7726f593dd"},
		{"foo-bar", "foo-bar"},
		{"a:b", "a-b-" + sha1Hex("a:b")},
		{"fe80::1", "fe80--1-" + sha1Hex("fe80::1")},
		{long + "bcd", long + "bcd"},
		{long + "bcde", long[:212] + "-" + sha1Hex(long+"bcde")},
		{long + "/", long[:212] + "-" + sha1Hex(long+"/")},
		{long[:213] + "/", long[:212] + "-" + sha1Hex(long[:213]+"/")},
		{long[:211] + "/", long[:211] + "--" + sha1Hex(long[:211]+"/")},
		{long[:210] + ".-" + long, long[:210] + "-" + sha1Hex(long[:210]+".-"+long)},
	} {
		t.Run(test.name, func(t *testing.T) { expect(t, dnsName(test.name), test.want) })
	}
}

func TestTranslationName(t *testing.T) {
	for _, test := range []struct{ kind, key, want string }{
		{"Pod", "web-0", "pod.4.web-0"},
		{"Node", "a.example.com", "node.4.a.example.com"},
		// The hash is that of the name with the kind in lower case, and the key unchanged.
		{"Node-Address", "node-a/ExternalIP/203.0.113.11", "node-address.4.node-a-externalip-203.0.113.11-70d99c69288a08c2406c9d927958704e4e38be37"},
		{"midonet-global", "chain", "midonet-global.4.chain"},
	} {
		t.Run(test.kind, func(t *testing.T) { expect(t, TranslationName(test.kind, test.key), test.want) })
	}
}

// FuzzTranslationName builds keys of names that Kubernetes allows, as the converters do.
func FuzzTranslationName(f *testing.F) {
	f.Add("Pod", "web-0", "")
	f.Add("Endpoints-Port", "kube-dns", "10.0.0.1/53/UDP")
	f.Add("Node-Address", strings.Repeat("a", 253), "InternalIP/fe80::1")
	f.Add("Pod", strings.Repeat("a.", 120)+"a", "")
	f.Fuzz(func(t *testing.T, kind, name, rest string) {
		if len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return
		}
		if strings.Trim(rest, "0123456789/:") != "" {
			return
		}
		key := strings.TrimSuffix(name+"/"+rest, "/")
		got := TranslationName(kind, key)
		if wrong := validation.IsDNS1123Subdomain(got); len(wrong) > 0 {
			t.Errorf("%s %s: %q: %v", kind, key, got, wrong)
		}
		if version, ok := midonetv1.VersionOf(got); !ok || version != midonetv1.TranslationVersion {
			t.Errorf("%q has version %q", got, version)
		}
		if other := TranslationName(kind, key+"0"); other == got {
			t.Errorf("%s %s shares %q with %s0", kind, key, got, key)
		}
	})
}
