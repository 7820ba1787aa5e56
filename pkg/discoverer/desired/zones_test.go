// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zoned returns an endpoint in a zone, with hints for others.
func zoned(address, zone string, hints ...string) discoveryv1.Endpoint {
	zonedEndpoint := endpoint(address, nil)
	zonedEndpoint.Zone = &zone
	if hints != nil {
		zonedEndpoint.Hints = &discoveryv1.EndpointHints{}
		for _, hint := range hints {
			zonedEndpoint.Hints.ForZones = append(zonedEndpoint.Hints.ForZones, discoveryv1.ForZone{Name: hint})
		}
	}
	return zonedEndpoint
}

// TestZonesInCaches checks that a slice comes out of a cache as it went in, and takes little room there for each endpoint.
func TestZonesInCaches(t *testing.T) {
	withheld := map[string]string{AnnotationWithheld: "{}"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		endpoints   []discoveryv1.Endpoint
	}{
		"no endpoints":                     {},
		"no zones":                         {withheld, []discoveryv1.Endpoint{endpoint("10.0.0.1", nil)}},
		"a zone":                           {nil, []discoveryv1.Endpoint{zoned("10.0.0.1", "europe-west1-a"), endpoint("10.0.0.2", nil)}},
		"hints":                            {withheld, []discoveryv1.Endpoint{zoned("10.0.0.1", "a", "a", "b"), zoned("10.0.0.2", "b", "c"), zoned("10.0.0.3", "a")}},
		"zones that look like numbers":     {nil, []discoveryv1.Endpoint{zoned("10.0.0.1", "1", "0"), zoned("10.0.0.2", "0", "2", "1")}},
		"an empty zone":                    {nil, []discoveryv1.Endpoint{zoned("10.0.0.1", "", "a")}},
		"more zones than there are digits": {nil, []discoveryv1.Endpoint{zoned("10.0.0.1", "a", "b", "c", "d", "e", "f", "g", "h"), zoned("10.0.0.2", "i", "j", "k", "l")}},
	} {
		t.Run(name, func(t *testing.T) {
			want := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}, Endpoints: Endpoints(tc.endpoints)}
			source := want.DeepCopy()
			shortened := *source
			shortened.Endpoints = Endpoints(source.Endpoints)
			ShortenZones(&shortened)
			text, err := shortened.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, source); diff != "" {
				t.Errorf("what the slice shares was changed: -want +got:\n%s", diff)
			}
			got := &discoveryv1.EndpointSlice{}
			if err := got.Unmarshal(text); err != nil {
				t.Fatal(err)
			}
			ExpandZones(got)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("room", func(t *testing.T) {
		plain, inZone := &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSlice{}
		for range 100 {
			plain.Endpoints = append(plain.Endpoints, endpoint("10.0.0.1", nil))
			inZone.Endpoints = append(inZone.Endpoints, zoned("10.0.0.1", "europe-west1-a", "europe-west1-a"))
		}
		ShortenZones(inZone)
		if more := (inZone.Size() - plain.Size()) / len(plain.Endpoints); more > 12 {
			t.Errorf("an endpoint takes %d bytes more with a zone and a hint, want at most 12", more)
		}
	})
}
