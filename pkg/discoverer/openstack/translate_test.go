// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const lbID = "3DD8AB5A-63CF-4F5D-9B4E-000000000001"

// balanced returns a load balancer with the listeners of these specifications, "PROTOCOL PORT POOL".
func balanced(specifications ...string) (*inventory, *openstack.LoadBalancer) {
	i := &inventory{
		balancers: []openstack.LoadBalancer{{ID: lbID, Name: "web", ProjectID: "p", ProvisioningStatus: "ACTIVE", AdminUp: true}},
		listeners: map[string][]openstack.Listener{}, pools: map[string]openstack.Pool{}, members: map[string][]openstack.Member{},
	}
	for n, text := range specifications {
		listener := openstack.Listener{ID: fmt.Sprintf("l%d", n), ProvisioningStatus: "ACTIVE", AdminUp: true}
		if _, err := fmt.Sscan(text+" ", &listener.Protocol, &listener.Port, &listener.DefaultPoolID); err != nil && listener.Port == 0 {
			panic(err)
		}
		i.listeners[lbID] = append(i.listeners[lbID], listener)
	}
	return i, &i.balancers[0]
}

// pool adds a pool.
func (i *inventory) pool(id string, members ...openstack.Member) {
	i.pools[id], i.members[id] = openstack.Pool{ID: id, AdminUp: true, ProvisioningStatus: "ACTIVE"}, members
}

// member returns one that is fine, "10.0.0.1:80".
func member(place string) openstack.Member {
	at := netip.MustParseAddrPort(place)
	return openstack.Member{ID: place, OperatingStatus: "ONLINE", Address: at.Addr(), Port: int(at.Port()), Weight: 1, AdminUp: true}
}

// portsOf are ports as "name protocol number".
func portsOf(source *desired.Source) []string {
	var texts []string
	for _, p := range source.Ports {
		texts = append(texts, fmt.Sprintf("%s %s %d", p.Name, p.Protocol, p.Port))
	}
	return texts
}

// endpointTexts are endpoints as "port name:protocol:number address", with what is not ready marked.
func endpointTexts(source *desired.Source) []string {
	var texts []string
	for _, slice := range source.Slices {
		for _, e := range slice.Endpoints {
			port := slice.Ports[0]
			text := fmt.Sprintf("%s:%s:%d %s", *port.Name, *port.Protocol, *port.Port, e.Addresses[0])
			switch {
			case *e.Conditions.Terminating:
				text += " draining"
			case !*e.Conditions.Ready:
				text += " down"
			}
			texts = append(texts, text)
		}
	}
	return texts
}

func TestTranslate(t *testing.T) {
	i, balancer := balanced("TERMINATED_HTTPS 443 a", "HTTP 80 a", "UDP 53 b", "TCP 53 b", "TCP 22", "UDP 123 b", "SCTP 53 b")
	i.pool("a", member("10.0.0.2:8080"), member("10.0.0.1:8081"), member("[fd00::1]:8080"))
	i.pool("b", member("10.0.0.3:53"))
	source, problems := i.translate("shop", balancer)
	if len(problems) > 0 || source.Namespace != "shop" || source.Name != strings.ToLower(lbID) {
		t.Errorf("%+v, %q", source, problems)
	}
	if l := source.Labels; len(l) != 2 || l["gimbal.projectcontour.io/load-balancer-id"] != lbID || l["gimbal.projectcontour.io/load-balancer-name"] != "web" {
		t.Errorf("labels: %v", l)
	}
	if want := []string{"port-22 TCP 22", "port-53 TCP 53", "port-53-sctp SCTP 53", "port-53-udp UDP 53", "port-80 TCP 80", "port-123 UDP 123", "port-443 TCP 443"}; !slices.Equal(portsOf(source), want) {
		t.Errorf("ports: %q", portsOf(source))
	}
	want := []string{
		"port-53:TCP:53 10.0.0.3", "port-53-sctp:SCTP:53 10.0.0.3", "port-53-udp:UDP:53 10.0.0.3",
		"port-80:TCP:8080 10.0.0.2", "port-80:TCP:8080 fd00::1", "port-80:TCP:8081 10.0.0.1",
		"port-123:UDP:53 10.0.0.3",
		"port-443:TCP:8080 10.0.0.2", "port-443:TCP:8080 fd00::1", "port-443:TCP:8081 10.0.0.1",
	}
	if got := endpointTexts(source); !slices.Equal(got, want) {
		t.Errorf("endpoints: %q", got)
	}
}

// TestOnlyRules checks that a listener that distributes requests by L7 policies only is named: its port has no endpoints.
func TestOnlyRules(t *testing.T) {
	i, balancer := balanced("HTTP 80 a", "HTTP 8080")
	i.pool("a", member("10.0.0.1:8080"))
	i.listeners[lbID][0].HasRules = true // it has a default pool as well
	if _, problems := i.translate("shop", balancer); len(problems) > 0 {
		t.Errorf("problems = %q, want none", problems)
	}
	i.listeners[lbID][1].HasRules = true
	source, problems := i.translate("shop", balancer)
	if len(problems) != 1 || !strings.Contains(problems[0], "port 8080 that distributes requests by L7 policies only") {
		t.Errorf("problems = %q, want one about port 8080", problems)
	}
	if want := []string{"port-80 TCP 80", "port-8080 TCP 8080"}; !slices.Equal(portsOf(source), want) {
		t.Errorf("ports = %q, want %q", portsOf(source), want)
	}
}

// TestAnotherPool checks that a slice belongs to the listener, so that another pool costs one write of the endpoints.
func TestAnotherPool(t *testing.T) {
	i, balancer := balanced("HTTP 80 a")
	i.pool("a", member("10.0.0.1:8080"))
	i.pool("b", member("10.0.0.2:8080"))
	before, _ := i.translate("shop", balancer)
	i.listeners[lbID][0].DefaultPoolID = "b"
	after, _ := i.translate("shop", balancer)
	if before.Slices[0].ID != after.Slices[0].ID || after.Slices[0].Endpoints[0].Addresses[0] != "10.0.0.2" {
		t.Errorf("%+v, then %+v", before.Slices, after.Slices)
	}
}

// TestDisabledResources checks that a disabled load balancer, listener or pool receives no traffic.
func TestDisabledResources(t *testing.T) {
	for name, change := range map[string]func(*inventory){
		"load balancer": func(i *inventory) { i.balancers[0].AdminUp = false },
		"listener":      func(i *inventory) { i.listeners[lbID][0].AdminUp = false },
		"pool":          func(i *inventory) { i.pools["a"] = openstack.Pool{ID: "a"} },
	} {
		i, balancer := balanced("HTTP 80 a")
		i.pool("a", member("10.0.0.1:8080"))
		change(i)
		source, _ := i.translate("shop", balancer)
		if got := endpointTexts(source); !slices.Equal(got, []string{"port-80:TCP:8080 10.0.0.1 down"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestProblemsOfALoadBalancer(t *testing.T) {
	i, balancer := balanced("HTTP 80 a", "HTTP 81 a")
	i.pool("a", member("169.254.169.254:80"), member("10.0.0.1:80"))
	balancer.ProvisioningStatus = "ERROR"
	source, problems := i.translate("shop", balancer)
	if got := endpointTexts(source); !slices.Equal(got, []string{"port-80:TCP:80 10.0.0.1", "port-81:TCP:80 10.0.0.1"}) {
		t.Errorf("endpoints: %q", got)
	}
	if len(problems) != 2 || !strings.Contains(problems[0], "169.254.169.254") || !strings.Contains(problems[1], "is in ERROR") {
		t.Errorf("problems: %q", problems)
	}
}

// TestSettled checks that parts of a load balancer that changes, or changed between two requests, are not used.
func TestSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*inventory)
		want   bool
	}{
		"active":                {func(*inventory) {}, true},
		"in error":              {func(i *inventory) { i.balancers[0].ProvisioningStatus = "ERROR" }, true},
		"pending update":        {func(i *inventory) { i.balancers[0].ProvisioningStatus = "PENDING_UPDATE" }, false},
		"pending delete":        {func(i *inventory) { i.balancers[0].ProvisioningStatus = "PENDING_DELETE" }, false},
		"a part is left behind": {func(i *inventory) { i.pools["a"] = openstack.Pool{ID: "a", ProvisioningStatus: "PENDING_CREATE"} }, true},
		"the pool went":         {func(i *inventory) { delete(i.pools, "a") }, false},
		"its members went":      {func(i *inventory) { delete(i.members, "a") }, false},
		"no pool at all":        {func(i *inventory) { i.listeners[lbID][0].DefaultPoolID = "" }, true},
	} {
		i, balancer := balanced("HTTP 80 a")
		i.pool("a")
		tc.change(i)
		if got := i.settled(balancer); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTranslateAnything checks that the API server accepts the translation of any response of Octavia: names are distinct and
// valid, and addresses are allowed in endpoints.
func TestTranslateAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		i, balancer := balanced()
		balancer.Name = rapid.String().Draw(r, "name")
		pools := []string{"a", "b", "", "gone"}
		for n := range rapid.IntRange(0, 6).Draw(r, "listeners") {
			i.listeners[lbID] = append(i.listeners[lbID], openstack.Listener{
				ID: fmt.Sprintf("l%d", n), AdminUp: rapid.Bool().Draw(r, "up"), Port: rapid.SampledFrom([]int{-1, 0, 53, 80, 65535, 65536}).Draw(r, "port"),
				Protocol:      rapid.SampledFrom([]string{"TCP", "UDP", "SCTP", "HTTP", "PROMETHEUS", "?"}).Draw(r, "protocol"),
				DefaultPoolID: rapid.SampledFrom(pools).Draw(r, "pool"),
			})
		}
		for _, id := range pools[:2] {
			var members []openstack.Member
			for range rapid.IntRange(0, 5).Draw(r, "members") {
				m := member(rapid.SampledFrom([]string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.1:81", "[fe80::1%eth0]:80", "[fd00::1%x]:80", "[::ffff:10.0.0.1]:80", "127.0.0.1:80", "0.0.0.0:80", "10.0.0.1:0"}).Draw(r, "place"))
				m.OperatingStatus = rapid.SampledFrom([]string{"ONLINE", "NO_MONITOR", "DRAINING", "ERROR", "OFFLINE", ""}).Draw(r, "status")
				m.AdminUp, m.Backup, m.Weight = rapid.Bool().Draw(r, "up"), rapid.Bool().Draw(r, "backup"), rapid.IntRange(0, 2).Draw(r, "weight")
				members = append(members, m)
			}
			i.pool(id, members...)
		}
		source, _ := i.translate("shop", balancer)
		checkSource(r, source)
		again, _ := i.translate("shop", balancer)
		if fmt.Sprint(endpointTexts(source), portsOf(source)) != fmt.Sprint(endpointTexts(again), portsOf(again)) {
			r.Error("the same load balancer is translated in two ways")
		}
	})
}

// checkSource wants of a source what the API server wants of its copy.
func checkSource(r *rapid.T, source *desired.Source) {
	for key, value := range source.Labels {
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			r.Errorf("label %s: %s", key, errs)
		}
	}
	names, places := map[string]bool{}, map[string]bool{}
	for _, p := range source.Ports {
		place := fmt.Sprintf("%s %d", p.Protocol, p.Port)
		if names[p.Name] || places[place] || !regexp.MustCompile(`^port-\d+(-udp|-sctp)?$`).MatchString(p.Name) || len(validation.IsValidPortNum(int(p.Port))) > 0 {
			r.Errorf("ports: %q", portsOf(source))
		}
		names[p.Name], places[place] = true, true
	}
	ids := map[string]bool{}
	for _, slice := range source.Slices {
		port := slice.Ports[0]
		if ids[slice.ID] || len(slice.Ports) != 1 || !names[*port.Name] || len(validation.IsValidPortNum(int(*port.Port))) > 0 || len(slice.Endpoints) == 0 {
			r.Errorf("slice %+v", slice)
		}
		ids[slice.ID] = true
		addresses := map[string]bool{}
		for _, e := range slice.Endpoints {
			address := netip.MustParseAddr(e.Addresses[0])
			family := discoveryv1.AddressTypeIPv4
			if address.Is6() {
				family = discoveryv1.AddressTypeIPv6
			}
			if addresses[e.Addresses[0]] || family != slice.AddressType || !isFit(address) || address.Zone() != "" {
				r.Errorf("slice %s: %v", slice.AddressType, e.Addresses)
			}
			addresses[e.Addresses[0]] = true
			c := e.Conditions
			if *c.Ready != (*c.Serving && !*c.Terminating) || *c.Terminating && !*c.Serving {
				r.Errorf("ready %v, serving %v, terminating %v", *c.Ready, *c.Serving, *c.Terminating)
			}
		}
	}
}

func TestProtocols(t *testing.T) {
	for protocol, want := range map[string]corev1.Protocol{"UDP": "UDP", "SCTP": "SCTP", "TCP": "TCP", "HTTP": "TCP", "HTTPS": "TCP", "TERMINATED_HTTPS": "TCP", "PROMETHEUS": "TCP"} {
		if got := protocolOf(&openstack.Listener{Protocol: protocol}); got != want {
			t.Errorf("%s: %s", protocol, got)
		}
	}
}
