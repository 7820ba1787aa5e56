// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// A catalog of several regions needs one that is named: without it, each service would be the first of the catalog. A service
// that the named region does not have is missing, and never that of another region.
func TestTwoRegions(t *testing.T) {
	needTestbed(t)
	const second = "RegionTwo"
	admin, a := realUser(t, "admin"), newProject(t)
	admin.must(http.MethodPost, "identity/regions", wrap("region", "id", second))
	t.Cleanup(func() { admin.must(http.MethodDelete, "identity/regions/"+second, nil) })
	for _, kind := range []string{"identity", "network"} {
		services := admin.call(http.MethodGet, "identity/services?type="+kind, nil).body["services"].([]any)
		made := admin.must(http.MethodPost, "identity/endpoints", wrap("endpoint", "service_id", services[0].(map[string]any)["id"], "region_id", second,
			"interface", "public", "url", admin.endpoints[kind]))["id"].(string)
		t.Cleanup(func() { admin.must(http.MethodDelete, "identity/endpoints/"+made, nil) })
	}
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
}
