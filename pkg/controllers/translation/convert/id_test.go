// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestIDVectors(t *testing.T) {
	ids := NewIDs("midonetkube")
	for _, test := range []struct{ what, got, want string }{
		{"tenant space", ids.tenant.String(), "b6b0f75c-b219-5240-baf8-77c92a28663e"},
		{"main chain", ids.mainChain().String(), "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"},
		{"services chain", ids.servicesChain().String(), "8ba7d5a7-f323-53d4-8522-ddb2c7158ef0"},
		{"cluster router", ids.clusterRouter().String(), "21607839-c6b4-5b98-8aa1-89a1aab61bca"},
		{"tunnel zone", ids.tunnelZone().String(), "51329ede-9b0f-5923-98ee-bf4ef08af54f"},
		{"node", ids.ForKey("Node", "node-a").String(), "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"},
		{"bridge", ids.bridge("node-a").String(), "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"},
		{"pod", ids.ForKey("Pod", "default/web-0").String(), "0e646980-2007-550e-bb96-44dc505bd784"},
		{"MAC address", MACForKey("hey").String(), "ac:ca:ba:fa:69:0b"},
		{"interface", InterfaceName("foo", "bar"), "mido17cdeaefa5c"},
		{"id version", IDVersion, "4"},
		{"translation version", midonetv1.TranslationVersion, "4"},
	} {
		t.Run(test.what, func(t *testing.T) { expect(t, test.got, test.want) })
	}
}

// FuzzID holds the ids against the definition of a UUID of version 5 (RFC 9562, 5.5), written out.
func FuzzID(f *testing.F) {
	f.Add("midonetkube", "Pod", "default/web-0", "DNAT")
	f.Add("", "", "", "")
	f.Add("a/b", "Node", "ü\xff", "Router Port")
	f.Fuzz(func(t *testing.T, tenant, kind, key, part string) {
		ids := NewIDs(tenant)
		space := version5(t, "3978567e91c4465ca0d167575f6b4c7f", "4/"+tenant)
		base := version5(t, space, "4/"+kind+"/"+key)
		expect(t, dashless(ids.ForKey(kind, key)), base)
		expect(t, dashless(SubID(ids.ForKey(kind, key), part)), version5(t, base, part))
		if read, ok := parseID(ids.ForKey(kind, key).String()); !ok || read != ids.ForKey(kind, key) {
			t.Errorf("%s is not read back", ids.ForKey(kind, key))
		}
	})
}

func version5(t *testing.T, space, name string) string {
	t.Helper()
	prefix, err := hex.DecodeString(space)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.Sum(append(prefix, name...))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:16])
}

func dashless(id [16]byte) string { return hex.EncodeToString(id[:]) }

// FuzzInterfaceName holds the names to what Linux takes, IFNAMSIZ less the zero at the end, and to one per Pod.
func FuzzInterfaceName(f *testing.F) {
	f.Add("foo", "bar")
	f.Add("", "")
	pattern := regexp.MustCompile(`^mido[0-9a-f]{11}$`)
	f.Fuzz(func(t *testing.T, namespace, name string) {
		got := InterfaceName(namespace, name)
		if !pattern.MatchString(got) || len(got) > 15 {
			t.Errorf("%q is no name of an interface", got)
		}
		if other := InterfaceName(namespace, name+"x"); other == got {
			t.Errorf("%s/%s and %sx share %s", namespace, name, name, got)
		}
	})
}

func TestMACForKeyIsUnicast(t *testing.T) {
	for i := range 100 {
		if address := MACForKey(fmt.Sprint("node-", i)); len(address) != 6 || address[0]&1 != 0 {
			t.Errorf("%s is no address of one port", address)
		}
	}
}

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
