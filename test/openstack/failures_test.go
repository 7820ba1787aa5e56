// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func TestNovaStoppedAndFrozen(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	k.server(k.network, "10.0.0.5")
	routes := []string{"100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6"}
	k.set(routes...)
	o := options()
	o.Timeout, o.Attempts = 5*time.Second, 2
	client := k.client(o)
	k.mustPass(client)
	for _, c := range []struct{ out, in []string }{{[]string{"stop", "nova-api"}, []string{"up"}}, {[]string{"freeze", "nova-api"}, []string{"thaw", "nova-api"}}} {
		t.Run(c.out[0], func(t *testing.T) {
			control(t, nil, c.out...)
			t.Cleanup(func() { control(t, nil, c.in...) })
			for range 2 {
				if r, err := k.pass(client); openstack.ReasonOf(err) != openstack.ReasonUnreachable || len(r.Removed) != 0 {
					t.Errorf("got %+v, %v", r, err)
				}
			}
			k.wantRoutes(routes...)
		})
	}
	client = k.client(options())
	k.mustPass(client)
	k.wantRoutes(routes[0])
}

func TestExpiredToken(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	k.set("100.100.1.0/24 10.0.0.5")
	k.port(k.network, k.subnet, "10.0.0.5")
	const lifetime = 10 * time.Second
	restart(t, "keystone", fmt.Sprintf("TESTBED_TOKEN_TTL=%d", lifetime/time.Second))
	o := options()
	registry := prometheus.NewRegistry()
	var err error
	if o.Telemetry, err = openstack.NewTelemetry(registry); err != nil {
		t.Fatal(err)
	}
	client := k.client(o)
	k.mustPass(client)
	<-time.After(lifetime + time.Second) // only time ends a token
	k.mustPass(client)
	want := `
# HELP groundskeeper_openstack_authentications_total Authentications with Keystone, by outcome: success or the reason of the failure.
# TYPE groundskeeper_openstack_authentications_total counter
groundskeeper_openstack_authentications_total{outcome="success"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "groundskeeper_openstack_authentications_total"); err != nil {
		t.Error(err)
	}
}

func TestRotatedCredentials(t *testing.T) {
	needTestbed(t)
	k := newKluster(t)
	clients, err := openstack.NewClients(options())
	if err != nil {
		t.Fatal(err)
	}
	get := func(version, password string) (*openstack.Client, error) {
		return clients.Get(context.Background(), k.secret("u", version, password))
	}
	if _, err := get("1", k.password); err != nil {
		t.Fatal(err)
	}
	admin := realUser(t, "admin")
	users := admin.call(http.MethodGet, "identity/users?name=demo", nil).body["users"].([]any)
	rotate := func(password string) {
		admin.must(http.MethodPatch, "identity/users/"+users[0].(map[string]any)["id"].(string), wrap("user", "password", password))
		k.password = password
		k.relogin()
	}
	old := k.password
	rotate("rotated")
	t.Cleanup(func() { rotate(old) })
	if _, err := clients.Get(context.Background(), k.secret("other", "1", old)); openstack.ReasonOf(err) != openstack.ReasonCredentialsRefused {
		t.Errorf("the old password: %v", err)
	}
	client, err := get("2", "rotated")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Network().Router(context.Background(), k.router); err != nil {
		t.Error(err)
	}
	if _, err := client.Compute().Servers(context.Background()); err != nil {
		t.Error(err)
	}
}
