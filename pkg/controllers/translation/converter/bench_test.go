// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// benchmarkConfig is how objects are converted by default.
func benchmarkConfig() convert.Config {
	config := testConfig()
	return convert.Config{Tenant: config.Tenant, TunnelZoneName: config.TunnelZoneName, ServiceTypes: config.ServiceTypes}
}

// serviceOf returns a Service with so many endpoints.
func serviceOf(endpoints int) (*corev1.Service, []*discoveryv1.EndpointSlice) {
	slice := testSlice("front", "1")
	for i := range endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.%d.%d", i>>8, i&0xff)}})
	}
	return testService("front"), []*discoveryv1.EndpointSlice{slice}
}

// BenchmarkPass converts a Service and decides what to do: all of a reconciliation but reading caches and writing.
func BenchmarkPass(b *testing.B) {
	config := benchmarkConfig()
	for _, endpoints := range []int{10, 1000} {
		service, slices := serviceOf(endpoints)
		want := convert.Join(convert.Service(service, config), convert.Endpoints(service, slices, config))
		synced := map[string]*midonetv1.Translation{}
		for i := range want.Translations {
			stored := want.Translations[i].DeepCopy()
			stored.UID, stored.ResourceVersion = types.UID(stored.Name), "1"
			synced[stored.Name] = stored
		}
		for _, of := range []struct {
			name     string
			existing map[string]*midonetv1.Translation
			writes   int
		}{{"new", nil, len(want.Translations)}, {"in sync", synced, 0}} {
			b.Run(fmt.Sprintf("%s/%d", of.name, endpoints), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					result := convert.Join(convert.Service(service, config), convert.Endpoints(service, slices, config))
					p, err := newPlan(convert.OwnerOf(convert.KindService, service), true, result.Translations, of.existing)
					if err != nil || len(p.create) != of.writes || len(p.update)+len(p.stale) > 0 {
						b.Fatal(len(p.create), len(p.update), len(p.stale), err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(want.Translations)), "ns/translation")
			})
		}
	}
}

// BenchmarkReduce is what the cache does to each object that comes.
func BenchmarkReduce(b *testing.B) {
	service, slices := serviceOf(100)
	translation := convert.Endpoints(service, slices, benchmarkConfig()).Translations[0].DeepCopy()
	for _, listed := range translation.Resources {
		translation.Status.Resources = append(translation.Status.Resources, midonetv1.BackendResourceStatus{
			Kind: listed.Kind, Parent: listed.Parent, ID: listed.Parent, State: midonetv1.BackendResourceSynced,
		})
	}
	for _, object := range []client.Object{benchmarkNode(), testPod("web-0", "a"), service, slices[0], translation} {
		b.Run(fmt.Sprintf("%T", object), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reduce(object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeartbeat drops the update of a Node that reports that it still lives, and of a Translation whose status the pusher
// wrote.
func BenchmarkHeartbeat(b *testing.B) {
	service, slices := serviceOf(1)
	translation := convert.Endpoints(service, slices, benchmarkConfig()).Translations[0].DeepCopy()
	for _, of := range []struct {
		object  client.Object
		dropped func(event.UpdateEvent) bool
	}{{trimmed(benchmarkNode()), changed().Update}, {translation, translationChanged().Update}} {
		before, ok := of.object.DeepCopyObject().(client.Object)
		after, isObject := of.object.DeepCopyObject().(client.Object)
		if !ok || !isObject {
			b.Fatalf("%T is no object", of.object)
		}
		before.SetResourceVersion("1")
		after.SetResourceVersion("2")
		b.Run(fmt.Sprintf("%T", of.object), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if of.dropped(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
					b.Fatal("it was admit")
				}
			}
		})
	}
}

// benchmarkNode returns a Node as a kubelet reports it.
func benchmarkNode() *corev1.Node {
	node := testNode("a")
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeHostName, Address: "a"}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Unix(1e9, 0))}}
	for i := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/image-%d", i)}})
	}
	return node
}

// BenchmarkCached is what a Translation in sync takes in the cache, as it comes from the API server and is reduced.
func BenchmarkCached(b *testing.B) {
	const services = 500
	config := benchmarkConfig()
	var encoded [][]byte
	for i := range services {
		service, slices := serviceOf(10)
		service.Name, service.UID = fmt.Sprintf("front-%d", i), types.UID(fmt.Sprintf("0e3ab5a5-0000-4000-8000-%012d", i))
		result := convert.Join(convert.Service(service, config), convert.Endpoints(service, slices, config))
		for k := range result.Translations {
			data, err := inSync(&result.Translations[k]).Marshal()
			if err != nil {
				b.Fatal(err)
			}
			encoded = append(encoded, data)
		}
	}
	for b.Loop() {
		before := heapInUse()
		cached := make([]any, len(encoded))
		for i, data := range encoded {
			translation := &midonetv1.Translation{}
			if err := translation.Unmarshal(data); err != nil {
				b.Fatal(err)
			}
			var err error
			if cached[i], err = reduce(translation); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heapInUse()-before)/float64(len(cached)), "B/translation")
		runtime.KeepAlive(cached)
	}
	runtime.KeepAlive(encoded)
}

// inSync returns a Translation as the pusher leaves it.
func inSync(t *midonetv1.Translation) *midonetv1.Translation {
	now := metav1.NewTime(time.Unix(1.9e9, 0))
	t.UID, t.ResourceVersion, t.Generation, t.CreationTimestamp = "7c0ee34b-5b5e-4bb5-a9d7-4b6f1b5d7a11", "123456", 1, now
	t.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldOwner, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	t.Status.ObservedGeneration = 1
	t.Status.Conditions = []metav1.Condition{{
		Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: now,
		Reason: "Synced", Message: "The backend has all resources.",
	}}
	for _, listed := range t.Resources {
		t.Status.Resources = append(t.Status.Resources, midonetv1.BackendResourceStatus{
			Kind: listed.Kind, Parent: listed.Parent, ID: "7c0ee34b-5b5e-4bb5-a9d7-4b6f1b5d7a11", State: midonetv1.BackendResourceSynced,
			BodyHash: "0123456789abcdef0123456789abcdef", LastTransitionTime: &now,
		})
	}
	return t
}

func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
