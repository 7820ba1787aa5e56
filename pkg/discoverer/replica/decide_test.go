// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

func source(endpoints int) *desired.Source {
	s := &desired.Source{
		Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"copied": "yes"},
		Ports:  []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}},
		Slices: []desired.Slice{{ID: "web-1", AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}}}},
	}
	for i := range endpoints {
		s.Slices[0].Endpoints = append(s.Slices[0].Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}})
	}
	return s
}

// there returns what the API server has after everything was written.
func there(objects *desired.Objects) desired.Objects {
	have := desired.Objects{Service: objects.Service.DeepCopy()}
	have.Service.UID, have.Service.ResourceVersion = "u", "7"
	for _, slice := range objects.Slices {
		slice = slice.DeepCopy()
		slice.UID, slice.ResourceVersion = "u-s", "8"
		have.Slices = append(have.Slices, slice)
	}
	return have
}

// show returns what operations do, in short.
func show(operations []operation) []string {
	shown := []string{}
	for _, op := range operations {
		kind := "service"
		if _, ok := op.Object.(*discoveryv1.EndpointSlice); ok {
			kind = "slice"
		}
		text := string(op.Verb) + " " + kind
		if op.Vanished {
			text += " (vanished)"
		}
		shown = append(shown, strings.TrimSpace(text+" "+string(op.Patch)))
	}
	return shown
}

func TestPlanCopy(t *testing.T) {
	const service, slice = `"metadata":{"resourceVersion":"7","uid":"u"}`, `"metadata":{"resourceVersion":"8","uid":"u-s"}`
	for name, tc := range map[string]struct {
		source   func(*desired.Source)
		have     func(*desired.Objects)
		vanished bool
		nothing  bool // is wanted
		want     []string
	}{
		"nothing differs":        {want: []string{}},
		"nothing is there":       {have: func(have *desired.Objects) { *have = desired.Objects{} }, want: []string{"create service", "create slice"}},
		"the Service is missing": {have: func(have *desired.Objects) { have.Service = nil }, want: []string{"create service"}},
		"the slice is missing":   {have: func(have *desired.Objects) { have.Slices = nil }, want: []string{"create slice"}},
		"another port": {
			source: func(s *desired.Source) { s.Ports[0].Port = 81 },
			want:   []string{`update service {` + service + `,"spec":{"ports":[{"name":"http","protocol":"TCP","port":81,"targetPort":8080}]}}`},
		},
		"an endpoint more": {
			source: func(s *desired.Source) {
				s.Slices[0].Endpoints = append(s.Slices[0].Endpoints[:1], discoveryv1.Endpoint{Addresses: []string{"10.0.0.9"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}})
			},
			want: []string{`update slice {"endpoints":[{"addresses":["10.0.0.0"],"conditions":{}},{"addresses":["10.0.0.9"],"conditions":{"ready":false}}],` + slice + `}`},
		},
		"another order of endpoints": {
			source: func(s *desired.Source) {
				e := s.Slices[0].Endpoints
				e[0], e[1] = e[1], e[0]
			},
			want: []string{},
		},
		"a slice instead of another": {
			source: func(s *desired.Source) { s.Slices[0].ID = "web-2" },
			want:   []string{"create slice", "delete slice (vanished)"},
		},
		"another type of addresses": {
			source: func(s *desired.Source) { s.Slices[0].AddressType = discoveryv1.AddressTypeIPv6 },
			want:   []string{"delete slice", "create slice"},
		},
		"a label was added, one removed": {
			have: func(have *desired.Objects) {
				have.Service.Labels["mine"] = "x"
				delete(have.Service.Labels, "app")
			},
			want: []string{`update service {"metadata":{"labels":{"app":"web","mine":null},"resourceVersion":"7","uid":"u"}}`},
		},
		"the original's labels stay": {
			have: func(have *desired.Objects) {
				have.Service.Labels[gimbalv1.LegacyLabelBackend], have.Service.Labels[gimbalv1.LegacyLabelService] = "us", "web"
			},
			want: []string{},
		},
		"annotations of users are retained": {
			have: func(have *desired.Objects) {
				have.Service.Annotations = map[string]string{"projectcontour.io/upstream-protocol.tls": "443", "copied": "yes"}
			},
			want: []string{},
		},
		"a copied annotation is corrected": {
			have: func(have *desired.Objects) { have.Service.Annotations = map[string]string{"also-copied": "x"} },
			want: []string{`update service {"metadata":{"annotations":{"also-copied":null,"copied":"yes"},"resourceVersion":"7","uid":"u"}}`},
		},
		"a selector": {
			have: func(have *desired.Objects) { have.Service.Spec.Selector = map[string]string{"a": "b"} },
			want: []string{`update service {` + service + `,"spec":{"selector":null}}`},
		},
		"a cluster IP cannot be removed": {
			have: func(have *desired.Objects) { have.Service.Spec.ClusterIP = "10.96.0.9" },
			want: []string{"delete service", "create service"},
		},
		"to an external name": {
			source: func(s *desired.Source) { s.ExternalName = "db.example.com" },
			want: []string{
				`update service {` + service + `,"spec":{"clusterIP":null,"clusterIPs":null,"externalName":"db.example.com","ipFamilies":null,"ipFamilyPolicy":null,"type":"ExternalName"}}`,
				"delete slice (vanished)",
			},
		},
		"from an external name": {
			have: func(have *desired.Objects) {
				have.Service.Spec.Type, have.Service.Spec.ExternalName, have.Service.Spec.ClusterIP = corev1.ServiceTypeExternalName, "x", ""
			},
			want: []string{`update service {` + service + `,"spec":{"clusterIP":"None","clusterIPs":null,"externalName":null,"type":"ClusterIP"}}`},
		},
		"gone":                   {nothing: true, vanished: true, want: []string{"delete service (vanished)", "delete slice (vanished)"}},
		"excluded":               {nothing: true, want: []string{"delete service", "delete slice"}},
		"deleted without a copy": {nothing: true, vanished: true, have: func(have *desired.Objects) { *have = desired.Objects{} }, want: []string{}},
		"slices alone":           {nothing: true, vanished: true, have: func(have *desired.Objects) { have.Service = nil }, want: []string{"delete slice (vanished)"}},
		"a port of a slice":      {source: func(s *desired.Source) { s.Slices[0].Ports[0].Port = new(int32(81)) }, want: []string{`update slice {` + slice + `,"ports":[{"name":"http","protocol":"TCP","port":81}]}`}},
		"a slice lost label":     {have: func(have *desired.Objects) { delete(have.Slices[0].Labels, desired.LabelManagedBy) }, want: []string{`update slice {"metadata":{"labels":{"app.kubernetes.io/managed-by":"groundskeeper-discoverer"},"resourceVersion":"8","uid":"u-s"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			have := there(desired.Build("us", source(2)))
			if tc.have != nil {
				tc.have(&have)
			}
			changed := source(2)
			if tc.source != nil {
				tc.source(changed)
			}
			want := desired.Build("us", changed)
			if tc.nothing {
				want = nil
			}
			operations, err := planCopy(want, have, []string{"copied", "also-copied"}, tc.vanished)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, show(operations)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPatchIsGuarded checks that a patch applies only to the version of the object that was read.
func TestPatchIsGuarded(t *testing.T) {
	have := there(desired.Build("us", source(1)))
	have.Service.Labels, have.Slices[0].Labels = nil, nil
	operations, err := planCopy(desired.Build("us", source(2)), have, nil, false)
	if err != nil || len(operations) != 2 {
		t.Fatal(operations, err)
	}
	for _, op := range operations {
		var patch struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		if err := json.Unmarshal(op.Patch, &patch); err != nil || patch.Metadata.UID != string(op.Object.GetUID()) || patch.Metadata.ResourceVersion != op.Object.GetResourceVersion() {
			t.Errorf("%s: %v", op.Patch, err)
		}
	}
}

func TestSuspicious(t *testing.T) {
	for _, tc := range []struct {
		existing, missing int
		want              bool
	}{{0, 0, false}, {9, 9, false}, {10, 5, false}, {10, 6, true}, {10, 10, true}, {2000, 1000, false}, {2000, 1001, true}} {
		t.Run(fmt.Sprintf("%d of %d", tc.missing, tc.existing), func(t *testing.T) {
			if got := suspicious(tc.existing, tc.missing); got != tc.want {
				t.Errorf("suspicious = %t, want %t", got, tc.want)
			}
		})
	}
}

// BenchmarkPlanCopy compares 2,000 Services with 5 endpoints each, of which nothing differs.
func BenchmarkPlanCopy(b *testing.B) {
	sources := make([]*desired.Source, 2000)
	haves := make([]desired.Objects, len(sources))
	for i := range sources {
		sources[i] = source(5)
		haves[i] = there(desired.Build("us", sources[i]))
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range sources {
			if operations, err := planCopy(desired.Build("us", sources[i]), haves[i], nil, false); err != nil || len(operations) > 1 {
				b.Fatal(operations, err)
			}
		}
	}
}
