// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// anotherRegion puts another region into the catalog, for one test: some services of the only one, again.
func anotherRegion(t *testing.T, name string, kinds ...string) {
	t.Helper()
	admin := realUser(t, "admin")
	admin.must(http.MethodPost, "identity/regions", wrap("region", "id", name))
	t.Cleanup(func() { admin.must(http.MethodDelete, "identity/regions/"+name, nil) })
	for _, kind := range kinds {
		services := admin.call(http.MethodGet, "identity/services?type="+kind, nil).body["services"].([]any)
		service := services[0].(map[string]any)["id"].(string)
		endpoints := admin.call(http.MethodGet, "identity/endpoints?interface=public&region_id=RegionOne&service_id="+service, nil).body["endpoints"].([]any)
		made := admin.must(http.MethodPost, "identity/endpoints", wrap("endpoint", "service_id", service, "region_id", name,
			"interface", "public", "url", endpoints[0].(map[string]any)["url"]))["id"].(string)
		t.Cleanup(func() { admin.must(http.MethodDelete, "identity/endpoints/"+made, nil) })
	}
}

// TestTwoRegions checks that a catalog with several regions requires a region: the first service of the catalog is not used by
// default, and a service that the region lacks is not replaced by that of another one.
func TestTwoRegions(t *testing.T) {
	needTestbed(t)
	const second = "RegionTwo"
	a := newProject(t)
	anotherRegion(t, second, "identity", "network")
	get := func(region string) (*openstack.Client, error) {
		clients, err := openstack.NewClients(options())
		if err != nil {
			t.Fatal(err)
		}
		secret := a.secret("u", "1", a.password)
		delete(secret.Data, "openstack-region")
		if region != "" {
			secret.Data["openstack-region"] = []byte(region)
		}
		return clients.Get(t.Context(), secret)
	}
	if _, err := get(""); openstack.ReasonOf(err) != openstack.ReasonCredentialsInvalid || !strings.Contains(err.Error(), second) {
		t.Errorf("without a region: error = %v, want one that names the regions", err)
	}
	if _, err := get("RegionThree"); err == nil {
		t.Error("a region that is not in the catalog: error = nil")
	}
	for _, region := range []string{"RegionOne", second} {
		client, err := get(region)
		if err != nil {
			t.Errorf("region %s: %v", region, err)
			continue
		}
		if _, err := client.Network().RouterIDs(t.Context()); err != nil {
			t.Errorf("the network of region %s: %v", region, err)
		}
		_, err = client.Compute().Servers(t.Context())
		if has := region != second; has != (err == nil) || !has && openstack.ReasonOf(err) != openstack.ReasonServiceMissing {
			t.Errorf("the servers of region %s: %v", region, err)
		}
	}
	// Route GC does not take the servers of one region for those of the routers of another.
	k := &kluster{api: a, clock: clocktesting.NewFakePassiveClock(time.Now())}
	k.network, k.subnet, k.router = a.network()
	k.target = newTarget(k.router)
	k.set("100.100.1.0/24 10.0.0.6")
	client, err := get(second)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, err := k.pass(client); openstack.ReasonOf(err) != openstack.ReasonServiceMissing || len(r.Removed) != 0 {
			t.Errorf("reconciliation in a region without Nova: %+v, %v", r, err)
		}
	}
	k.wantRoutes("100.100.1.0/24 10.0.0.6")
}
