// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decoded returns a Service and its EndpointSlice as they come from a server: no two share memory.
func decoded(i int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	name := fmt.Sprintf("service-%d", i)
	s, e := service("namespace-"+fmt.Sprint(i%20), name), endpoints("namespace-"+fmt.Sprint(i%20), name, "abcde")
	s.ResourceVersion, e.ResourceVersion = fmt.Sprint(1000+i), fmt.Sprint(9000+i)
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", 500))}}
	for j := range 5 {
		e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", i/250, i%250, j)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			NodeName:   new(fmt.Sprintf("node-%d", j)), TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprintf("%s-%d", name, j), UID: "b5b9d5e6-0000-4000-8000-000000000000"},
		})
	}
	return s, e
}

// BenchmarkMemory is what the cache of 2,000 Services with 5 endpoints each keeps of one cluster. There are two.
func BenchmarkMemory(b *testing.B) {
	u := &Upstream{}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		kept := make([]any, 0, 4000)
		for i := range 2000 {
			s, e := decoded(i)
			kept = append(kept, u.trimService(s), u.trimSlice(e))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB")
		runtime.KeepAlive(kept)
	}
}
