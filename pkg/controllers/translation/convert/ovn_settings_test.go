// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestOVNNodeAddressTypes checks which addresses of a Node are routed to it and in its ACLs. A kubelet writes them.
func TestOVNNodeAddressTypes(t *testing.T) {
	const internal, external = "192.0.2.1", "198.51.100.7"
	node := ovnNode(func(n *corev1.Node) {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: external})
	})
	for name, tc := range map[string]struct {
		types                      []corev1.NodeAddressType
		wantInternal, wantExternal bool
	}{
		"none":     {nil, false, false},
		"internal": {[]corev1.NodeAddressType{corev1.NodeInternalIP}, true, false},
		"external": {[]corev1.NodeAddressType{corev1.NodeExternalIP}, false, true},
		"both":     {[]corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := ovnEmitter()
			o.Config.NodeAddressTypes = tc.types
			for _, translation := range o.Node(node, nil).Translations {
				for _, r := range translation.Resources {
					if r.Kind != "ACL" {
						continue
					}
					for address, want := range map[string]bool{internal: tc.wantInternal, external: tc.wantExternal} {
						if got := strings.Contains(r.Body, address); got != want {
							t.Errorf("%s has %s = %v, want %v", r.Body, address, got, want)
						}
					}
				}
			}
			routes := fmt.Sprint(o.Node(node, nil).Translations)
			for address, want := range map[string]bool{internal: tc.wantInternal, external: tc.wantExternal} {
				if got := strings.Contains(routes, `"ip_prefix":"`+address+`/32"`); got != want {
					t.Errorf("%s is routed = %v, want %v", address, got, want)
				}
			}
		})
	}
}

// TestOVNAffinityByHash checks which load balancers choose the endpoint by the address of the client alone.
func TestOVNAffinityByHash(t *testing.T) {
	single := func(s *corev1.Service) { s.Spec.ClusterIPs = nil }
	affine := func(s *corev1.Service) {
		s.Spec.SessionAffinity, s.Spec.Ports[0].NodePort = corev1.ServiceAffinityClientIP, 30080
	}
	ports := []string{"ip_dst", "ip_src", "tp_dst", "tp_src"}
	for name, tc := range map[string]struct {
		byHash   bool
		edits    []func(*corev1.Service)
		want     map[string][]string // by the part of the name
		problems []string
	}{
		"not set": {false, []func(*corev1.Service){single, affine}, map[string][]string{"tcp": nil, "tcp/node-ports/ipv4": ports, "udp": nil},
			[]string{ReasonSessionAffinityNotSupported}},
		"set": {true, []func(*corev1.Service){single, affine},
			map[string][]string{"tcp": {"ip_src"}, "tcp/node-ports/ipv4": {"ip_src"}, "udp": {"ip_src"}}, nil},
		"no affinity": {true, []func(*corev1.Service){single}, map[string][]string{"tcp": nil, "udp": nil}, nil},
		"both families": {true, []func(*corev1.Service){affine},
			map[string][]string{"tcp": nil, "tcp/node-ports/ipv4": {"ip_src"}, "tcp/node-ports/ipv6": ports, "udp": nil},
			[]string{ReasonSessionAffinityNotSupported}},
	} {
		t.Run(name, func(t *testing.T) {
			o := ovnEmitter()
			o.Config.AffinityByHash = tc.byHash
			result := o.Service(ovnService(tc.edits...), nil, nil)
			expect(t, problems(result), tc.problems)
			got := map[string][]string{}
			for _, r := range result.Translations[0].Resources {
				body := fields(t, r)
				var selected []string
				listed, _ := body["selection_fields"].([]any)
				for _, field := range listed {
					selected = append(selected, field.(string))
				}
				got[strings.TrimPrefix(body["name"].(string), "default/web/")] = selected
			}
			if len(got) != len(tc.want) {
				t.Errorf("load balancers = %v, want %v", got, tc.want)
			}
			for part, want := range tc.want {
				if !slices.Equal(got[part], want) {
					t.Errorf("%s selects by %v, want %v", part, got[part], want)
				}
			}
		})
	}
}

// TestOVNTenantInNames checks that no port of a tenant has the name of one of another tenant, and that those which refer to another by its
// name find it.
func TestOVNTenantInNames(t *testing.T) {
	portNames := func(tenant string, inNames bool) (names, references map[string]bool) {
		o := ovnEmitter()
		o.Config.Tenant, o.Config.TenantInNames = tenant, inNames
		names, references = map[string]bool{}, map[string]bool{}
		node := ovnNode(gatewayNode("physnet1", "198.51.100.11/24"))
		for _, translation := range Join(o.Globals(), o.Node(node, nil), o.Pod(ovnPod(), node, Scope{})).Translations {
			for _, r := range translation.Resources {
				body := fields(t, r)
				if r.Kind == "LogicalSwitchPort" || r.Kind == "LogicalRouterPort" {
					names[body["name"].(string)] = true
				}
				if port, ok := body["output_port"].(string); ok {
					references[port] = true
				}
				if options, ok := body["options"].(map[string]any); ok && options["router-port"] != nil {
					references[options["router-port"].(string)] = true
				}
			}
		}
		return names, references
	}
	blue, references := portNames("blue", true)
	green, _ := portNames("green", true)
	plain, _ := portNames("blue", false)
	if len(blue) != len(plain) || !blue["blue_default_web-0"] || !blue["blue_k8s-node-a"] || !plain["default_web-0"] {
		t.Errorf("ports = %v with the tenant, %v without", blue, plain)
	}
	for name := range blue {
		if !strings.HasPrefix(name, "blue_") || green[name] {
			t.Errorf("port %q does not carry the tenant", name)
		}
	}
	for name := range references {
		if !blue[name] {
			t.Errorf("a row refers to port %q, and the ports are %v", name, blue)
		}
	}
}
