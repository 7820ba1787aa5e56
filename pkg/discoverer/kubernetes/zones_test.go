// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestZones checks that zones and hints are copied unless they are omitted, that copies of an earlier version, or of another policy,
// get one write each, and that a restart writes nothing.
func TestZones(t *testing.T) {
	plain := func() *discoveryv1.EndpointSlice { return endpoints("shop", "web", "a", "10.1.0.1", "10.1.0.2") }
	zoned := func() *discoveryv1.EndpointSlice { return inZone("europe-west1-a", plain()) }
	for name, tc := range map[string]struct {
		there, here *discoveryv1.EndpointSlice
		omit        bool
		want        string
		writes      []string
	}{
		"of an earlier version": {zoned(), plain(), false, "europe-west1-a", []string{"patch endpointslices"}},
		"of before a restart":   {zoned(), zoned(), false, "europe-west1-a", nil},
		"in another zone now":   {zoned(), inZone("b", plain()), false, "europe-west1-a", []string{"patch endpointslices"}},
		"in none any more":      {plain(), zoned(), false, "", []string{"patch endpointslices"}},
		"omitted":               {zoned(), zoned(), true, "", []string{"patch endpointslices"}},
		"omitted before":        {zoned(), plain(), true, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []runtime.Object{service("shop", "web"), tc.there}, append(copied("us", service("shop", "web"), tc.here), namespace("shop")))
			w.start(setup{omitZones: tc.omit})
			for _, endpoint := range w.slice("shop", sliceName("web", "web-a")).Endpoints {
				zone, hint := "", ""
				if endpoint.Zone != nil {
					zone = *endpoint.Zone
				}
				if endpoint.Hints != nil {
					hint = endpoint.Hints.ForZones[0].Name
				}
				if zone != tc.want || hint != tc.want {
					t.Errorf("zone of %s = %q, hint = %q; want %q", endpoint.Addresses, zone, hint, tc.want)
				}
			}
			if got := w.writes(); !slices.Equal(got, tc.writes) {
				t.Errorf("writes = %q, want %q", got, tc.writes)
			}
			w.stop()
			w.start(setup{omitZones: tc.omit})
			if got := w.writes(); len(got) > 0 {
				t.Errorf("writes after a restart = %q, want none", got)
			}
		})
	}
}
