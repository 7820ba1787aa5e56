// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func endpoint(address string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
}

func TestBuild(t *testing.T) {
	source := &Source{
		Namespace: "shop", Name: "web",
		Labels: map[string]string{
			"app": "web", LabelManagedBy: "Helm", gimbalv1.LegacyLabelService: "x", gimbalv1.LabelService: "other",
		},
		Annotations: map[string]string{"a/b": "c"},
		Ports: []corev1.ServicePort{
			{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromString("dns"), NodePort: 30053},
			{Name: "dns-tcp", Port: 53, AppProtocol: new("kubernetes.io/h2c")},
		},
		Slices: []Slice{{ID: "web-abc", AddressType: discoveryv1.AddressTypeIPv6, Ports: []discoveryv1.EndpointPort{
			{Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(53))},
			{Name: new("dns"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(53)), AppProtocol: new("kubernetes.io/h2c")},
		}, Endpoints: []discoveryv1.Endpoint{
			{
				Addresses: []string{"fd00::2"}, NodeName: new("node"), Zone: new("z"), Hostname: new("h"), TargetRef: &corev1.ObjectReference{Name: "pod"},
				Hints:      &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}, ForNodes: []discoveryv1.ForNode{{Name: "node"}}},
				Conditions: discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)},
			},
			endpoint("fd00::1", nil),
		}}},
	}
	got := Build("us", source)
	labels := func(more map[string]string) map[string]string {
		all := map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "web", LabelManagedBy: Manager}
		for key, value := range more {
			all[key] = value
		}
		return all
	}
	want := &Objects{
		Service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "us-web", Labels: labels(map[string]string{"app": "web"}), Annotations: map[string]string{"a/b": "c"}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{
				{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromString("dns")},
				{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53, TargetPort: intstr.FromInt32(53), AppProtocol: new("kubernetes.io/h2c")},
			}},
		},
		Slices: []*discoveryv1.EndpointSlice{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: SliceName("us-web", "web-abc"), Labels: labels(map[string]string{
				discoveryv1.LabelServiceName: "us-web", discoveryv1.LabelManagedBy: Manager,
			})},
			AddressType: discoveryv1.AddressTypeIPv6,
			Ports: []discoveryv1.EndpointPort{
				{Name: new("dns"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(53)), AppProtocol: new("kubernetes.io/h2c")},
				{Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(53))},
			},
			Endpoints: []discoveryv1.Endpoint{
				endpoint("fd00::1", nil),
				{
					Addresses: []string{"fd00::2"}, Hostname: new("h"), Zone: new("z"), Hints: &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}},
					Conditions: discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)},
				},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, changed := source.Labels[gimbalv1.LegacyLabelService]; !changed {
		t.Error("the labels of the source were changed")
	}
}

func TestBuildExternalName(t *testing.T) {
	got := Build("us", &Source{Namespace: "shop", Name: "db", ExternalName: "db.example.com", Slices: []Slice{{ID: "x"}}})
	if got.Service.Spec.Type != corev1.ServiceTypeExternalName || got.Service.Spec.ExternalName != "db.example.com" || got.Service.Spec.ClusterIP != "" || len(got.Slices) != 0 {
		t.Errorf("%+v", got)
	}
}

// A slice with more endpoints than the API server takes is split, and none is lost.
func TestBuildManyEndpoints(t *testing.T) {
	source := &Source{Namespace: "shop", Name: "web", Slices: []Slice{{ID: "a", AddressType: discoveryv1.AddressTypeIPv4}}}
	for i := range 2*MaxEndpoints + 1 {
		source.Slices[0].Endpoints = append(source.Slices[0].Endpoints, endpoint(fmt.Sprintf("10.0.%d.%d", i/250, i%250), new(true)))
	}
	got := Build("us", source)
	addresses, names := sets.New[string](), sets.New[string]()
	for _, slice := range got.Slices {
		if len(slice.Endpoints) > MaxEndpoints {
			t.Errorf("%s has %d endpoints", slice.Name, len(slice.Endpoints))
		}
		names.Insert(slice.Name)
		for _, endpoint := range slice.Endpoints {
			addresses.Insert(endpoint.Addresses[0])
		}
	}
	if len(got.Slices) != 3 || len(names) != 3 || len(addresses) != 2*MaxEndpoints+1 {
		t.Errorf("%d slices, %d names, %d addresses", len(got.Slices), len(names), len(addresses))
	}
	if source.Slices[0].Endpoints = source.Slices[0].Endpoints[:5]; Build("us", source).Slices[0].Name != got.Slices[0].Name {
		t.Error("the name changed with the endpoints")
	}
}

func object(namespace, name string, labels map[string]string) metav1.Object {
	return &metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}

func TestServiceSource(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		object metav1.Object
		want   types.NamespacedName
	}{
		"ours":                           {object("shop", "us-web", map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "web"}), web},
		"the original's":                 {object("shop", "us-web", map[string]string{gimbalv1.LegacyLabelBackend: "us", gimbalv1.LegacyLabelService: "web"}), web},
		"both prefixes":                  {object("shop", "us-web", map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LegacyLabelBackend: "us", gimbalv1.LabelService: "web"}), web},
		"another backend's":              {object("shop", "us-web", map[string]string{gimbalv1.LabelBackend: "eu", gimbalv1.LabelService: "web"}), types.NamespacedName{}},
		"own first":                      {object("shop", "us-web", map[string]string{gimbalv1.LabelBackend: "eu", gimbalv1.LegacyLabelBackend: "us", gimbalv1.LabelService: "web"}), types.NamespacedName{}},
		"another name":                   {object("shop", "mine", map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "web"}), types.NamespacedName{}},
		"without a service":              {object("shop", "us-web", map[string]string{gimbalv1.LabelBackend: "us"}), types.NamespacedName{}},
		"without any label":              {object("shop", "us-web", nil), types.NamespacedName{}},
		"managed by Groundskeeper alone": {object("shop", "us-web", map[string]string{LabelManagedBy: Manager}), types.NamespacedName{}},
	} {
		if got, ok := ServiceSource("us", tc.object); got != tc.want || ok != (tc.want != types.NamespacedName{}) {
			t.Errorf("%s: got %v, %t", name, got, ok)
		}
	}
}

func TestSliceSource(t *testing.T) {
	labels := func(manager string) map[string]string {
		return map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "web", discoveryv1.LabelManagedBy: manager}
	}
	for name, tc := range map[string]struct {
		object metav1.Object
		want   bool
	}{
		"ours":                     {object("shop", SliceName("us-web", "a"), labels(Manager)), true},
		"mirrored from an own one": {object("shop", "us-web-x7k2p", labels("endpointslicemirroring-controller.k8s.io")), false},
		"another name":             {object("shop", "web-a", labels(Manager)), false},
	} {
		if _, ok := SliceSource("us", tc.object); ok != tc.want {
			t.Errorf("%s: got %t", name, ok)
		}
	}
}

func TestLostLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"only who manages it":    {map[string]string{LabelManagedBy: Manager}, true},
		"a slice":                {map[string]string{discoveryv1.LabelManagedBy: Manager}, true},
		"another service":        {map[string]string{LabelManagedBy: Manager, gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "db"}, true},
		"no service":             {map[string]string{LabelManagedBy: Manager, gimbalv1.LabelBackend: "us"}, true},
		"not who manages it":     {map[string]string{gimbalv1.LabelBackend: "us", gimbalv1.LabelService: "web"}, false},
		"another backend":        {map[string]string{LabelManagedBy: Manager, gimbalv1.LabelBackend: "eu"}, false},
		"another's, by original": {map[string]string{LabelManagedBy: Manager, gimbalv1.LegacyLabelBackend: "eu"}, false},
		"somebody's":             {nil, false},
	} {
		if got := LostLabels("us", object("shop", "us-web", tc.labels)); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
