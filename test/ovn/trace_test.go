// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// packet is one of a Pod, by way of the router.
type packet struct {
	pod           *corev1.Pod
	source        string // the Pod's address if it is empty
	destination   string
	port          int
	balanced, via string // the endpoint that the load balancer chooses, and further arguments
	protocol      string // tcp if it is empty
}

// trace returns the result of a packet.
func (w *world) trace(p packet) string {
	w.t.Helper()
	destination := netip.MustParseAddr(p.destination)
	source, protocol := p.source, "ip4"
	if source == "" {
		source = p.pod.Status.PodIPs[0].IP
	}
	if destination.Is6() {
		protocol = "ip6"
		if p.source == "" {
			source = p.pod.Status.PodIPs[1].IP
		}
	}
	first := netip.MustParseAddr(p.pod.Status.PodIP).As4()
	mac := fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", first[0], first[1], first[2], first[3])
	transport := "tcp"
	if p.protocol != "" {
		transport = strings.ToLower(p.protocol)
	}
	flow := fmt.Sprintf(`inport=="%s_%s" && eth.src==%s && eth.dst==%s && %s.src==%s && %s.dst==%s && ip.ttl==64 && %s && %s.src==40000 && %s.dst==%d`,
		p.pod.Namespace, p.pod.Name, mac, convert.MACForKey(p.pod.Spec.NodeName), protocol, source, protocol, destination, transport, transport, transport, p.port)
	var arguments []string
	if p.balanced != "" {
		arguments = append(arguments, "--lb-dst="+p.balanced)
	}
	if p.via != "" {
		arguments = append(arguments, strings.Fields(p.via)...)
	}
	var lines []string
	for line := range strings.Lines(w.server.Trace(w.t, append(arguments, p.pod.Spec.NodeName, flow)...)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// TestTrace follows packets between Pods and through Services, in both families, and finds changes of objects in what becomes of them.
func TestTrace(t *testing.T) {
	w := newWorld(t)
	client, web0, web1 := pod("client", "node-a", "0", "99"), pod("web-0", "node-a", "0", "10"), pod("web-1", "node-b", "1", "11")
	web, none := service("web", "10.0.0.50", "fd00::50"), service("none", "10.0.0.51")
	objects := cluster{
		nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, pods: []*corev1.Pod{client, web0, web1},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{
			web:  {slice(discoveryv1.AddressTypeIPv4, "10.1.0.10", "10.1.1.11"), slice(discoveryv1.AddressTypeIPv6, "fd01:0:0:1::11")},
			none: nil,
		},
	}
	w.apply(objects)
	for name, tc := range map[string]struct {
		packet packet
		want   []string
	}{
		"to a Pod of another Node":       {packet{pod: client, destination: "10.1.1.11", port: 8080}, []string{`output("default_web-1")`, "ip.ttl--"}},
		"to a Pod of another Node, IPv6": {packet{pod: client, destination: "fd01:0:0:1::11", port: 8080}, []string{`output("default_web-1")`}},
		"Service, first endpoint":        {packet{pod: client, destination: "10.0.0.50", port: 80, balanced: "10.1.0.10:8080"}, []string{`output("default_web-0")`}},
		"Service, second endpoint":       {packet{pod: client, destination: "10.0.0.50", port: 80, balanced: "10.1.1.11:8080"}, []string{`output("default_web-1")`}},
		"Service, IPv6":                  {packet{pod: client, destination: "fd00::50", port: 80, balanced: "[fd01:0:0:1::11]:8080"}, []string{`output("default_web-1")`}},
		"Service, from its endpoint":     {packet{pod: web0, destination: "10.0.0.50", port: 80, balanced: "10.1.0.10:8080"}, []string{"ct_lb", `output("default_web-0")`}},
		"Service without endpoints":      {packet{pod: client, destination: "10.0.0.51", port: 80, via: "--ct=new"}, []string{"tcp_reset"}},
		"address of a Node":              {packet{pod: client, destination: "192.0.2.11", port: 22}, []string{`output("k8s-node-b")`}},
		"source of another Pod":          {packet{pod: client, source: "10.1.0.10", destination: "10.1.1.11", port: 8080}, nil},
		"source of another Pod, IPv6":    {packet{pod: client, source: "fd01:0:0:0::10", destination: "fd01:0:0:1::11", port: 8080}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.trace(tc.packet)
			for _, text := range tc.want {
				if !strings.Contains(got, text) {
					t.Errorf("the packet gets %q, want %q", got, text)
				}
			}
			if tc.want == nil && strings.Contains(got, "output") {
				t.Errorf("the packet gets %q, want it dropped", got)
			}
		})
	}

	// Another process finds everything in place.
	w.restart()
	w.settle()
	if w.driver.count.Load() != 0 {
		t.Errorf("%d writes after a restart, want none", w.driver.count.Load())
	}

	// One changed endpoint is one write.
	objects.services[web] = []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "10.1.0.10")}
	w.apply(objects)
	if w.driver.count.Load() != 1 {
		t.Errorf("%d writes for an endpoint, want 1", w.driver.count.Load())
	}
	vips := w.server.Nbctl(t, "--bare", "--columns=vips", "find", "Load_Balancer", "name=default/web/tcp")
	if !strings.Contains(vips, "10.0.0.50:80=10.1.0.10:8080") || strings.Contains(vips, "11:8080") {
		t.Errorf("vips = %q, want the endpoint that is left", vips)
	}
}

// TestRepair reverts changes of other clients, leaves what is theirs, and deletes all of the tenant's in the end.
func TestRepair(t *testing.T) {
	w := newWorld(t)
	client, web0 := pod("client", "node-a", "0", "99"), pod("web-0", "node-a", "0", "10")
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0")}, pods: []*corev1.Pod{client, web0},
		services: map[*corev1.Service][]*discoveryv1.EndpointSlice{service("web", "10.0.0.50"): {slice(discoveryv1.AddressTypeIPv4, "10.1.0.10")}}}
	w.server.Nbctl(t, "ls-add", "theirs", "--", "lsp-add", "theirs", "their-port")
	w.apply(objects)
	before := w.rows()
	for _, change := range [][]string{
		{"lsp-del", "default_web-0"},
		{"lsp-set-addresses", "default_client", "unknown"},
		{"lsp-set-port-security", "default_client"},
		{"set", "Load_Balancer", "default/web/tcp", `vips:"10.0.0.99:80"="10.1.0.10:1"`},
		{"--all", "destroy", "Load_Balancer"},
		{"lr-route-del", tenant + "-router"},
		{"clear", "Logical_Switch", "node-a", "load_balancer_group"},
		{"clear", "Logical_Router", tenant + "-router", "external_ids"}, // with the tag
		{"clear", "Logical_Switch_Port", "default_web-0", "external_ids"},
		{"clear", "Load_Balancer", "default/web/tcp", "external_ids"},
		{"lr-del", tenant + "-router"},
		{"ls-del", "node-a"},
		{"lrp-add", tenant + "-router", "uplink", "02:00:00:00:00:01", "198.51.100.1/24"},
	} {
		t.Run(strings.Join(change, " "), func(t *testing.T) {
			w.server.Nbctl(t, change...)
			report, err := w.engine.Drift(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if isOwned := change[0] != "lrp-add"; (report.Drifted > 0) != isOwned {
				t.Errorf("report = %+v, want drift: %v", report, isOwned)
			}
			w.settle()
			if got := w.rows(); got != before {
				t.Errorf("the rows are\n%s\nwant\n%s", got, before)
			}
		})
	}
	if ports := w.server.Nbctl(t, "lrp-list", tenant+"-router"); !strings.Contains(ports, "(uplink)") {
		t.Errorf("the ports of the router are %q, want that of another client among them", ports)
	}
	w.server.Nbctl(t, "lrp-del", "uplink")
	for _, claim := range w.claims {
		claim.Deleting = true
		w.observe(claim)
	}
	w.settle()
	if rest := w.server.Nbctl(t, "show"); !strings.Contains(rest, "theirs") || !strings.Contains(rest, "their-port") || strings.Count(rest, "switch ") != 1 || strings.Contains(rest, "router") {
		t.Errorf("what is left is %q, want the switch of another client", rest)
	}
	if rest := w.rows(); strings.TrimSpace(rest) != "" {
		t.Errorf("what is left of the tenant is %q", rest)
	}
}

// TestRestoredTranslations checks that the Translations of another tenant, as restored from the backup of its cluster, neither change nor
// delete the rows of that tenant, if these have no tag or cannot have one.
func TestRestoredTranslations(t *testing.T) {
	w := newWorldWith(t, ovnserver.Options{})
	theirs := w.emitter()
	theirs.Config.Tenant = "other"
	restored := theirs.Globals()
	made := 0
	for _, translation := range restored.Translations {
		for _, resource := range translation.Resources {
			parsed, err := ovn.Parse(resource.Kind, resource.Parent, resource.Body)
			if err != nil {
				t.Fatal(err)
			}
			if parsed.Kind.Parent == "" {
				made++
				w.server.Nbctl(t, "--id="+parsed.ID, "create", parsed.Kind.Table, fmt.Sprintf("name=theirs_%d", made))
			}
		}
	}
	for _, result := range []convert.Result{restored, {}} { // they are restored, then deleted
		w.put("restored", result)
		for range 2 {
			w.push()
		}
		got := ""
		for _, table := range []string{"Logical_Router", "Load_Balancer_Group", "Port_Group"} {
			got += w.server.Nbctl(t, "--bare", "--columns=name", "list", table) + "\n"
		}
		if strings.Count(got, "theirs_") != made {
			t.Errorf("rows = %s\nwant the %d of the other tenant, unchanged", got, made)
		}
	}
}

// rows returns all rows of the tenant, without what the server sets.
func (w *world) rows() string {
	w.t.Helper()
	var all []string
	for table, columns := range map[string]string{
		"Logical_Switch": "name,load_balancer_group", "Logical_Router": "name", "Logical_Switch_Port": "name,type,addresses,port_security,options", "Logical_Router_Port": "name,mac,networks",
		"Logical_Router_Static_Route": "ip_prefix,nexthop,output_port", "Load_Balancer": "name,vips,options",
		"Logical_Router_Policy": "priority,match,action,nexthops", "NAT": "type,logical_ip,external_ip", "Chassis_Template_Var": "chassis,variables",
		"Port_Group": "name,ports,acls", "ACL": "direction,priority,match,action,options",
	} {
		listed := w.server.Nbctl(w.t, "--format=csv", "--no-headings", "--columns=_uuid,"+columns, "find", table, "external_ids:"+"groundskeeper-tenant="+tenant)
		for line := range strings.Lines(listed) {
			all = append(all, table+" "+strings.TrimSpace(line))
		}
	}
	return strings.Join(sorted(all), "\n")
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}
