// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/midonet/validation"
)

func TestParseID(t *testing.T) {
	for text, want := range map[string]string{
		hostID: hostID, strings.ToUpper(hostID): hostID, "urn:uuid:" + hostID: hostID, "{" + hostID + "}": hostID,
		strings.ReplaceAll(hostID, "-", ""): hostID,
		"":                                  "", "x": "", " " + hostID: "", "(" + hostID + ")": "", hostID[1:]: "", "g" + hostID[1:]: "",
		"00000000-0000-0000-0000-000000000000": "",
	} {
		t.Run(text, func(t *testing.T) {
			id, ok := parseID(text)
			expect(t, ok, want != "")
			if ok {
				expect(t, id.String(), want)
			}
		})
	}
}

// FuzzParseIPv4 holds what is read against the other parser of Go.
func FuzzParseIPv4(f *testing.F) {
	for _, seed := range []string{"10.0.0.1", "::ffff:10.0.0.1", "::1", "", "10.0.0.01", "fe80::1%eth0", "::ffff:10.0.0.1%eth0", "10.0.0.1/8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, failed := parseIPv4("spec.x", text)
		if failed != nil {
			if !strings.HasPrefix(failed.Message, "spec.x is ") {
				t.Errorf("%q does not name the field", failed.Message)
			}
			if net.ParseIP(text).To4() != nil {
				t.Errorf("%q is rejected: %s", text, failed.Message)
			}
			return
		}
		if text, _, _ = strings.Cut(text, "%"); net.ParseIP(text).To4().String() != address.String() {
			t.Errorf("%q is read as %s", text, address)
		}
	})
}

// FuzzParseSubnet holds what is read against the other parser of Go, and counts manually.
func FuzzParseSubnet(f *testing.F) {
	for _, seed := range []string{
		"10.1.0.0/24", "10.1.0.16/24", "10.1.0.0/30", "10.1.0.0/31", "10.1.0.0/32", "10.1.0.255/24", "255.255.255.254/8",
		"255.255.255.255/0", "0.0.0.0/0", "fd00::/64", "::ffff:10.0.0.0/120", "", "10.1.0.0", "10.1.0.0/", "10.1.0.0/033", "0.0.0.0/00", "10.1.0.0/+24",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, ok := parseSubnet(text)
		written, network, err := net.ParseCIDR(text)
		padded := strings.Contains(text, "/0") && !strings.HasSuffix(text, "/0") // a length such as 08, which netip rejects
		fits := err == nil && !padded && !strings.Contains(text, ":") && network.Contains(plus(written, 1)) && network.Contains(plus(written, 2))
		if ok != fits {
			t.Fatalf("%q: read is %t, want %t", text, ok, fits)
		}
		if ok && (read.gateway.String() != plus(written, 1).String() || read.node.String() != plus(written, 2).String() || read.String() != network.String()) {
			t.Errorf("%q is read as %s with %s and %s", text, read, read.gateway, read.node)
		}
	})
}

// plus returns an IPv4 address some further, nil beyond the last one.
func plus(address net.IP, steps uint64) net.IP {
	bytes := address.To4()
	value := uint64(bytes[0])<<24 | uint64(bytes[1])<<16 | uint64(bytes[2])<<8 | uint64(bytes[3])
	if value += steps; value > 0xffffffff {
		return nil
	}
	return net.IPv4(byte(value>>24), byte(value>>16), byte(value>>8), byte(value))
}

// FuzzConvert puts any text where Kubernetes takes any text: nothing panics, and the API takes what comes out.
func FuzzConvert(f *testing.F) {
	f.Add(hostID, "", "192.168.10.11", "ac:ca:ba:00:00:11", "10.1.0.0/24", "203.0.113.11", "10.1.0.5")
	f.Add(strings.ToUpper(hostID), hostID, "::1", "accaba000011", "fd00::/64", "::ffff:1.2.3.4", "fd00::5")
	f.Add("{"+hostID+"}", "x", "\xff", "AC-CA-BA-00-00-11", "10.1.0.9/29", "\n", "1.2.3.4%z")
	f.Fuzz(func(t *testing.T, host, zone, endpoint, mac, cidr, address, podIP string) {
		pair := load(t, "pod")
		node, pod, service := pair.Node, pair.Pod, load(t, "endpoints")
		node.Annotations = map[string]string{
			midonetv1.AnnotationHostID: host, midonetv1.AnnotationTunnelZoneID: zone,
			midonetv1.AnnotationTunnelEndpointIP: endpoint, midonetv1.AnnotationMACAddress: mac,
		}
		node.Spec.PodCIDR = cidr
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		pod.Annotations[midonetv1.AnnotationMACAddress] = mac
		pod.Status.PodIP = podIP
		service.Service.Spec.ClusterIP = address
		service.EndpointSlices[0].Endpoints[0].Addresses = []string{podIP}
		for what, result := range map[string]Result{
			"node": Node(node, settings()), "pod": Pod(pod, node, settings()), "service": Service(service.Service, settings()),
			"endpoints": Endpoints(service.Service, service.EndpointSlices, settings()),
		} {
			if result.Waiting != nil && len(result.Translations) > 0 {
				t.Errorf("%s waits, and wants %q", what, names(result))
			}
			for i := range result.Translations {
				if errs := validation.ValidateTranslation(&result.Translations[i]); len(errs) > 0 {
					t.Errorf("%s: the API rejects %s: %v", what, result.Translations[i].Name, errs)
				}
			}
		}
		if _, err := netip.ParseAddr(address); err != nil && len(Service(service.Service, settings()).Translations) > 0 {
			t.Errorf("%q is served", address)
		}
	})
}
