// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestSpreadAddress(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []string
		want      string // empty: none
	}{
		"loopback":   {[]string{"127.0.0.1/8", "::1/128"}, ""},
		"link-local": {[]string{"127.0.0.1/8", "169.254.3.4/16", "fe80::1/64"}, ""},
		"IPv6 only":  {[]string{"127.0.0.1/8", "fd00::2/64"}, ""},
		"usual":      {[]string{"127.0.0.1/8", "::1/128", "fd00::2/64", "192.0.2.2/24", "10.0.0.5/8"}, "192.0.2.2"},
		"none":       {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var addresses []net.Addr
			for _, text := range test.addresses {
				ip, network, err := net.ParseCIDR(text)
				if err != nil {
					t.Fatal(err)
				}
				addresses = append(addresses, &net.IPNet{IP: ip, Mask: network.Mask})
			}
			got, err := spreadAddress(addresses)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestSpreadRegistration(t *testing.T) {
	objects, err := manifests(filepath.Join(artifacts, "apiservice"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{options: Options{Spread: true}}
	for _, object := range objects {
		if err := p.localize(object, []byte("authority")); err != nil {
			t.Fatal(err)
		}
		spec := object.Object["spec"].(map[string]any)
		switch object.GetKind() {
		case "Service": // without a selector: its endpoints are the plane's
			want := map[string]any{"type": "ClusterIP", "ports": []any{map[string]any{"name": "https", "port": int64(443), "protocol": "TCP"}}}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		default:
			if port := spec["service"].(map[string]any)["port"]; port != int64(443) {
				t.Errorf("%s leads to port %v", object.GetName(), port)
			}
		}
	}
}

func TestEndpointSlice(t *testing.T) {
	var slice discoveryv1.EndpointSlice
	object := endpointSlice("groundskeeper-apiserver-1", "192.0.2.2", 4711, false)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &slice, true); err != nil {
		t.Fatal(err)
	}
	if slice.Labels[discoveryv1.LabelServiceName] != apiserverName || slice.Namespace != systemNamespace || *slice.Endpoints[0].Conditions.Ready || *slice.Ports[0].Port != 4711 || *slice.Ports[0].Name != servicePortName {
		t.Errorf("%+v", slice)
	}
}

func TestOptionsOfDedicatedEtcd(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string // in the error
	}{
		"two etcds":        {Options{APIServers: 2, SharedEtcd: true, EtcdMembers: 3}, "have one etcd"},
		"no etcd for two":  {Options{APIServers: 2}, "Options.EtcdMembers"},
		"outlives spread":  {Options{APIServers: 2, EtcdMembers: 3, Spread: true, Detached: true}, "Options.Detached"},
		"outlives nothing": {Options{APIServers: 2, EtcdMembers: 3, Detached: true, BinDir: "/nowhere"}, "/nowhere has no"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Dir = t.TempDir()
			if _, err := test.options.complete(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it reports %v", err)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	p := &Plane{options: Options{EtcdMembers: 3}, ports: map[string]int{
		"groundskeeper-etcd": 1, "groundskeeper-etcd-1": 2, "groundskeeper-etcd-2": 3,
		"groundskeeper-etcd-peer": 4, "groundskeeper-etcd-1-peer": 5, "groundskeeper-etcd-2-peer": 6,
	}}
	if diff := cmp.Diff([]string{"https://127.0.0.1:1", "https://127.0.0.1:2", "https://127.0.0.1:3"}, p.MemberEndpoints()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := "groundskeeper-etcd=https://127.0.0.1:4,groundskeeper-etcd-1=https://127.0.0.1:5,groundskeeper-etcd-2=https://127.0.0.1:6"
	if got := p.initialCluster(); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for name := range p.ports {
		found := false
		for _, n := range p.portNames() {
			found = found || n == name
		}
		if !found {
			t.Errorf("%s is not among the ports", name)
		}
	}
}
