// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// reduced returns an object as the cache keeps it.
func reduced[T client.Object](t *testing.T, object T) T {
	t.Helper()
	var again any = object.DeepCopyObject()
	for range 2 { // a cache may reduce what it has reduced before
		kept, err := reduce(again)
		if err != nil {
			t.Fatal(err)
		}
		again = kept
	}
	return again.(T)
}

// TestCacheRetainsConvertedFields checks that the cached fields suffice: each pair of the oracle is converted from them as from the
// whole object.
func TestCacheRetainsConvertedFields(t *testing.T) {
	files, err := filepath.Glob("../convert/testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%q %v", files, err)
	}
	config := convert.Config{Tenant: "midonetkube", TunnelZoneName: "z", ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP}}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pair struct {
			Node           *corev1.Node
			Pod            *corev1.Pod
			Service        *corev1.Service
			EndpointSlices []*discoveryv1.EndpointSlice
		}
		if err := json.Unmarshal(content, &pair); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var whole, kept []convert.Result
		if node := pair.Node; node != nil {
			// In two families, as nodes of such clusters are.
			node.Spec.PodCIDRs = append([]string{node.Spec.PodCIDR}, "fd00::/64")
			whole, kept = append(whole, convert.Node(node, config)), append(kept, convert.Node(reduced(t, node), config))
		}
		if pod := pair.Pod; pod != nil {
			pod.Status.PodIP, pod.Status.PodIPs = "fd00::7", []corev1.PodIP{{IP: "fd00::7"}, {IP: "10.1.0.7"}}
			whole, kept = append(whole, convert.Pod(pod, pair.Node, config)), append(kept, convert.Pod(reduced(t, pod), reduced(t, pair.Node), config))
		}
		if service := pair.Service; service != nil {
			service.Spec.ClusterIP, service.Spec.ClusterIPs = "fd00::1", []string{"fd00::1", service.Spec.ClusterIP}
			requesting(service)
			// The endpoints of the last slice are the only ones left of its second port, and on their way out.
			last := pair.EndpointSlices
			if len(last) > 0 {
				for i := range last[len(last)-1].Endpoints {
					last[len(last)-1].Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
				}
				for _, slice := range last[:len(last)-1] {
					slice.Ports = slice.Ports[:1]
				}
			}
			var trimmed []*discoveryv1.EndpointSlice
			for _, slice := range pair.EndpointSlices {
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.9"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}})
				trimmed = append(trimmed, reduced(t, slice))
			}
			midonet := convert.MidoNet{Config: config}
			whole, kept = append(whole, midonet.Service(service, pair.EndpointSlices, nil)), append(kept, midonet.Service(reduced(t, service), trimmed, nil))
			if got := len(whole[len(whole)-1].Skipped); got < 5 {
				t.Errorf("%s: %d problems, want all that a service can request", file, got)
			}
		}
		if diff := cmp.Diff(whole, kept); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// demanding has a Service request all that a backend may not have.
func requesting(service *corev1.Service) {
	service.Spec.SessionAffinity, service.Spec.ExternalIPs = corev1.ServiceAffinityClientIP, []string{"203.0.113.1"}
	service.Spec.ExternalTrafficPolicy, service.Spec.InternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal, new(corev1.ServiceInternalTrafficPolicyLocal)
	service.Spec.TrafficDistribution = new(corev1.ServiceTrafficDistributionPreferClose)
	service.Spec.Ports[0].NodePort = 30001
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}, {IP: "203.0.113.3", IPMode: new(corev1.LoadBalancerIPModeProxy)}}
}

// TestCacheKeepsFinalizersOfGarbageCollection checks that the finalizers of garbage collection are cached, and no others.
func TestCacheKeepsFinalizersOfGarbageCollection(t *testing.T) {
	service := testService("front")
	service.Finalizers = []string{"example.com/load-balancer", metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}
	if diff := cmp.Diff([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}, reduced(t, service).Finalizers); diff != "" {
		t.Error(diff)
	}
}

// TestCacheKeepsRequestedFieldsOfServices checks that fields that a Service does not set are not cached, however the API server
// represents them.
func TestCacheKeepsRequestedFieldsOfServices(t *testing.T) {
	want := testService("front")
	service := want.DeepCopy()
	service.Spec.SessionAffinity, service.Spec.ExternalTrafficPolicy = corev1.ServiceAffinityNone, corev1.ServiceExternalTrafficPolicyCluster
	service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
	if diff := cmp.Diff(want, reduced(t, service)); diff != "" {
		t.Error(diff)
	}
}

// TestCacheRetainsAnnotatedFields checks that the fields that the annotator reads are cached.
func TestCacheRetainsAnnotatedFields(t *testing.T) {
	node := testNode("a")
	node.Annotations = map[string]string{}
	for _, name := range []string{midonetv1.AnnotationHostID, midonetv1.AnnotationTunnelZoneID, midonetv1.AnnotationTunnelEndpointIP,
		midonetv1.AnnotationWrittenTunnelEndpointIP, midonetv1.AnnotationMACAddress} {
		node.Annotations[name] = "x"
	}
	if diff := cmp.Diff(node.Annotations, reduced(t, node).Annotations); diff != "" {
		t.Error(diff)
	}
}

// TestCacheDropsOtherFields checks that other fields are not cached.
func TestCacheDropsOtherFields(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "x", Namespace: "shop", UID: "u", ResourceVersion: "1", Labels: map[string]string{"app": "x"}, Annotations: map[string]string{"long": "text"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}}, Finalizers: []string{"f/f"},
	}
	bare := metav1.ObjectMeta{Name: "x", Namespace: "shop", UID: "u", ResourceVersion: "1"}
	for _, tc := range []struct{ whole, want client.Object }{
		{&corev1.Node{ObjectMeta: meta, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{}}}}, &corev1.Node{ObjectMeta: bare}},
		{&corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}, &corev1.Pod{ObjectMeta: bare}},
		{&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}}, &corev1.Service{ObjectMeta: bare}},
		{&discoveryv1.EndpointSlice{ObjectMeta: meta, Endpoints: []discoveryv1.Endpoint{{}}}, &discoveryv1.EndpointSlice{ObjectMeta: bare}},
	} {
		if diff := cmp.Diff(tc.want, reduced(t, tc.whole)); diff != "" {
			t.Error(diff)
		}
	}
	metadata := &metav1.PartialObjectMetadata{ObjectMeta: *meta.DeepCopy()}
	if got := reduced(t, metadata); got.ManagedFields != nil || got.Labels["app"] != "x" || got.Annotations["long"] != "text" {
		t.Errorf("metadata of others: %+v", got.ObjectMeta)
	}
	if deleted := (toolscache.DeletedFinalStateUnknown{Key: "k"}); true {
		if got, err := reduce(deleted); got != deleted || err != nil {
			t.Errorf("%v %v", got, err)
		}
	}
}

// TestRestrictedKinds checks that only kinds that no other controller needs completely are restricted.
func TestRestrictedKinds(t *testing.T) {
	for _, tc := range []struct {
		config configv1alpha1.TranslationConfiguration
		kinds  int
	}{{testConfig(), 5}, {ovnConfig(), 6}} {
		options := CacheOptions(tc.config)
		if len(options) != tc.kinds {
			t.Errorf("%d kinds, want %d", len(options), tc.kinds)
		}
		for object, by := range options {
			if by.Transform == nil || by.Label != nil || by.Field != nil || by.Namespaces != nil {
				t.Errorf("%T: objects are left out", object)
			}
		}
	}
}
