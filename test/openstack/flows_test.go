// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// secret holds the credentials of a user, with a password.
func (a *api) secret(uid, version, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "k-secret", UID: types.UID(uid), ResourceVersion: version}, Data: map[string][]byte{
		"openstack-auth-url": []byte(a.authURL), "openstack-region": []byte("RegionOne"), "openstack-username": []byte(a.user), "openstack-password": []byte(password),
		"openstack-domain-name": []byte("Default"), "openstack-project-name": []byte(a.project), "openstack-project-domain-name": []byte("Default"),
	}}
}

// options returns those of the tests: nothing to wait for but the cloud.
func options() openstack.Options {
	return openstack.Options{AllowPlainHTTP: true, QPS: 1000, Burst: 1000, Timeout: time.Minute, MinBackoff: time.Millisecond, MaxBackoff: time.Second}
}

// client is Groundskeeper's client of a user.
func (a *api) client(o openstack.Options) *openstack.Client {
	a.t.Helper()
	clients, err := openstack.NewClients(o)
	if err != nil {
		a.t.Fatal(err)
	}
	client, err := clients.Get(context.Background(), a.secret("u", "1", a.password))
	if err != nil {
		a.t.Fatal(err)
	}
	return client
}

// kluster is a cluster on a dedicated router.
type kluster struct {
	*api
	network, subnet, router string
	clock                   *clocktesting.FakePassiveClock
	target                  routegc.Target
	history                 routegc.History
}

func newKluster(t *testing.T) *kluster {
	k := &kluster{api: realUser(t, "demo"), clock: clocktesting.NewFakePassiveClock(time.Now())}
	k.network, k.subnet, k.router = k.api.network()
	k.target = newTarget(k.router)
	return k
}

func newTarget(router string) routegc.Target {
	return routegc.Target{RouterID: router,
		Scope:  routegc.Scope{ClusterCIDR: netip.MustParsePrefix("100.100.0.0/16"), Siblings: []netip.Prefix{netip.MustParsePrefix("100.101.0.0/16")}},
		Limits: routegc.Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}}
}

// pass reconciles once an hour after the last one.
func (k *kluster) pass(client *openstack.Client) (routegc.Result, error) {
	k.clock.SetTime(k.clock.Now().Add(time.Hour))
	return routegc.Pass{Project: client.ProjectID(), Network: client.Network(), Compute: client.Compute(), Clock: k.clock}.Run(context.Background(), k.target, &k.history)
}

func (k *kluster) mustPass(client *openstack.Client) routegc.Result {
	k.t.Helper()
	r, err := k.pass(client)
	if err != nil {
		k.t.Fatal(err)
	}
	return r
}

// set replaces the routes.
func (k *kluster) set(routes ...string) {
	k.t.Helper()
	k.must(http.MethodPut, "network/v2.0/routers/"+k.router, hops(routes...))
}

// routes returns those of the router, sorted.
func (k *kluster) routes() []string {
	k.t.Helper()
	return routesOf(k.must(http.MethodGet, "network/v2.0/routers/"+k.router, nil))
}

func (k *kluster) wantRoutes(want ...string) {
	k.t.Helper()
	slices.Sort(want)
	if got := k.routes(); !slices.Equal(got, want) {
		k.t.Errorf("the router has %q, want %q", got, want)
	}
}

func TestOrphansOfADeletedServer(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	k.server(k.network, "10.0.0.5")
	deleted := k.server(k.network, "10.0.0.6")
	k.port(k.network, k.subnet, "10.0.0.7") // something else, which Nova does not know
	live := []string{"100.100.1.0/24 10.0.0.5", "100.100.3.0/24 10.0.0.5", "100.100.7.0/24 10.0.0.7", "192.168.0.0/24 10.0.0.77", "100.101.0.0/24 10.0.0.6", "100.100.0.0/15 10.0.0.6"}
	orphan := "100.100.2.0/24 10.0.0.6"
	k.set(append(live, orphan)...)
	client := k.client(options())
	for range 3 {
		if r := k.mustPass(client); len(r.Waiting)+len(r.Removed) != 0 {
			t.Errorf("with all servers there: %+v", r)
		}
	}
	k.deleteServer(deleted)
	if r := k.mustPass(client); len(r.Waiting) != 1 {
		t.Errorf("the first check: %+v", r)
	}
	k.wantRoutes(append(live, orphan)...)
	if r := k.mustPass(client); len(r.Removed) != 1 {
		t.Errorf("the second check: %+v", r)
	}
	k.wantRoutes(live...)
}

// The subport of a trunk has neither the server nor the trunk as its device: only the trunk relates it to the server of the parent
// port. Nova detaches the parent port when the server is deleted.
func TestSubportsOfADeletedServer(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	k.server(k.network, "10.0.0.5")
	trunk := func(parentAddress, address string) (server string) {
		t.Helper()
		parent, subport := k.port(k.network, k.subnet, parentAddress), k.port(k.network, k.subnet, address)
		id := k.must(http.MethodPost, "network/v2.0/trunks", wrap("trunk", "port_id", parent, "sub_ports",
			[]any{map[string]any{"port_id": subport, "segmentation_type": "vlan", "segmentation_id": 100}}))["id"].(string)
		t.Cleanup(func() { k.must(http.MethodDelete, "network/v2.0/trunks/"+id, nil) })
		return k.boot(map[string]any{"port": parent})
	}
	trunk("10.0.0.20", "10.0.0.21")
	deleted := trunk("10.0.0.30", "10.0.0.31")
	live, orphan := "100.100.1.0/24 10.0.0.21", "100.100.2.0/24 10.0.0.31"
	k.set(live, orphan)
	client := k.client(options())
	for range 3 {
		if r := k.mustPass(client); len(r.Waiting)+len(r.Removed) != 0 {
			t.Errorf("with all servers there: %+v", r)
		}
	}
	k.deleteServer(deleted)
	k.mustPass(client)
	k.mustPass(client)
	k.wantRoutes(live)
}

func TestTheMostRoutes(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	k.server(k.network, "10.0.0.5")
	routes := many(30)
	routes[7] = "100.100.7.0/24 10.0.0.6"
	k.set(routes...)
	client := k.client(options())
	k.mustPass(client)
	k.mustPass(client)
	k.wantRoutes(slices.Delete(routes, 7, 8)...)
}

// TestWithoutAtomicRoutes removes an orphan where Neutron does not have the extension.
func TestWithoutAtomicRoutes(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	restart(t, "neutron", "TESTBED_ROUTER_PLUGIN=plain_router")
	k.server(k.network, "10.0.0.5")
	k.set("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "192.168.0.0/24 10.0.0.77")
	client := k.client(options())
	if atomic, err := client.Network().HasExtension(context.Background(), "extraroute-atomic"); atomic || err != nil {
		t.Fatalf("the extension is there: %v", err)
	}
	k.mustPass(client)
	k.mustPass(client)
	k.wantRoutes("100.100.1.0/24 10.0.0.5", "192.168.0.0/24 10.0.0.77")
}

// routesOf returns the routes of a router, sorted.
func routesOf(router any) []string {
	var texts []string
	for _, entry := range router.(map[string]any)["routes"].([]any) {
		r := entry.(map[string]any)
		texts = append(texts, fmt.Sprintf("%s %s", r["destination"], r["nexthop"]))
	}
	slices.Sort(texts)
	return texts
}
