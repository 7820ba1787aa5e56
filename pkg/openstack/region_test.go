// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestRegionOf(t *testing.T) {
	in := func(service string, regions ...string) tokens.CatalogEntry {
		entry := tokens.CatalogEntry{Type: service}
		for _, region := range regions {
			entry.Endpoints = append(entry.Endpoints, tokens.Endpoint{Interface: "public", Region: region, RegionID: region})
		}
		return entry
	}
	internal := in("network", "two")
	internal.Endpoints[0].Interface = "internal"
	older := in("network")
	older.Endpoints = []tokens.Endpoint{{Interface: "public", Region: "one"}}
	for name, c := range map[string]struct {
		catalog           []tokens.CatalogEntry
		region, want, err string
	}{
		"the only one":                  {[]tokens.CatalogEntry{in("network", "one"), in("compute", "one")}, "", "one", ""},
		"several":                       {[]tokens.CatalogEntry{in("network", "one", "two"), in("compute", "two", "one")}, "", "", "several regions (one, two)"},
		"one for each service":          {[]tokens.CatalogEntry{in("network", "one"), in("compute", "two")}, "", "", "several regions (one, two)"},
		"Cinder by another name":        {[]tokens.CatalogEntry{in("network", "one"), in("volumev3", "two")}, "", "", "several regions (one, two)"},
		"Keystone is elsewhere":         {[]tokens.CatalogEntry{in("identity", "global"), in("network", "one")}, "", "one", ""},
		"what is not used is elsewhere": {[]tokens.CatalogEntry{in("object-store", "two"), in("network", "one")}, "", "one", ""},
		"on another interface":          {[]tokens.CatalogEntry{in("network", "one"), internal}, "", "one", ""},
		"named":                         {[]tokens.CatalogEntry{in("network", "one", "two")}, "two", "two", ""},
		"named wrongly":                 {[]tokens.CatalogEntry{in("network", "one", "two")}, "three", "", `no region "three": name one of its regions in the Secret: one, two`},
		"no id of the region":           {[]tokens.CatalogEntry{older}, "", "one", ""},
		"an empty catalog":              {nil, "", "", ""},
		"an empty catalog, named":       {nil, "one", "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := regionOf(c.catalog, Credentials{Region: c.region})
			if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("region = %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

// TestTwoRegions checks that, in a cloud of two regions, a Secret must name one, and that all services are of that region.
func TestTwoRegions(t *testing.T) {
	s := newFake(t, fake.Options{})
	other := fake.New(fake.Options{Region: "RegionTwo", Keystone: s})
	t.Cleanup(other.Close)
	id := other.AddServer("garden", other.AddNetwork(subnetCIDR), "10.0.0.5", "ACTIVE")
	router := other.AddRouter("garden")
	secret := secretFor(s, "u", "1", secretWord)
	delete(secret.Data, "openstack-region")
	if _, err := newClients(t, quick()).Get(context.Background(), secret); ReasonOf(err) != ReasonCredentialsInvalid || !strings.Contains(err.Error(), "several regions (RegionOne, RegionTwo)") {
		t.Errorf("without a region: %v", err)
	}
	secret.Data["openstack-region"] = []byte("RegionTwo")
	client, err := newClients(t, quick()).Get(context.Background(), secret)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := client.Compute().Servers(context.Background())
	if err != nil || len(servers) != 1 || servers[0].ID != id || client.Region() != "RegionTwo" {
		t.Errorf("servers %v, %v, in %s", servers, err, client.Region())
	}
	if _, err := client.Network().Router(context.Background(), router); err != nil {
		t.Error(err)
	}
}
