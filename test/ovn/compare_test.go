// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// BenchmarkComparison measures a comparison of the whole Northbound database that finds no difference: how long it takes, what the server
// sends for it, and the CPU time of the server. The time per Pod should not depend on their number.
func BenchmarkComparison(b *testing.B) {
	for _, size := range []struct{ nodes, pods, services, policies int }{{25, 1000, 0, 0}, {100, 4000, 0, 0}, {250, 10000, 5000, 200}} {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d/services=%d/policies=%d", size.nodes, size.pods, size.services, size.policies), func(b *testing.B) {
			if size.policies > 0 && testing.Short() {
				b.Skip("takes minutes to fill the database")
			}
			w := newWorldWith(b, ovnserver.Options{})
			w.convert(manyObjects(size.nodes, size.pods, size.services, size.policies))
			w.pushAll(b)
			received := new(atomic.Int64)
			w.endpoint = counted(b, w.server.Endpoint(), received)
			w.restart()
			w.pushAll(b)
			pid := w.server.PIDs()["northbound ovsdb-server"]
			for b.Loop() {
				before, err := probe.UsageOf(pid)
				if err != nil {
					b.Fatal(err)
				}
				received.Store(0)
				began := time.Now()
				report, err := w.engine.Drift(b.Context())
				if err != nil || report.Drifted != 0 || report.Orphans != 0 {
					b.Fatalf("comparison = %+v, %v, want no difference", report, err)
				}
				b.ReportMetric(time.Since(began).Seconds(), "s")
				b.ReportMetric(float64(received.Load())/1e6, "MB")
				after, err := probe.UsageOf(pid)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric((after.CPU - before.CPU).Seconds(), "server-CPU-s")
				b.ReportMetric(float64(report.Reads), "reads")
			}
		})
	}
}

// manyObjects returns a cluster whose Pods are spread over its Nodes, and whose policies each select a part of the Pods.
func manyObjects(nodes, pods, services, policies int) cluster {
	objects := cluster{services: map[*corev1.Service][]*discoveryv1.EndpointSlice{}}
	for i := range nodes {
		objects.nodes = append(objects.nodes, node(fmt.Sprintf("node-%d", i), fmt.Sprint(i)))
	}
	for i := range pods {
		on := i % nodes
		p := pod(fmt.Sprintf("pod-%d", i), fmt.Sprintf("node-%d", on), fmt.Sprint(on), fmt.Sprint(10+i/nodes))
		p.Labels = map[string]string{"app": fmt.Sprint(i % max(policies, 1))}
		objects.pods = append(objects.pods, p)
	}
	for i := range services {
		s := service(fmt.Sprintf("service-%d", i), fmt.Sprintf("10.96.%d.%d", i/250, 1+i%250))
		objects.services[s] = []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, objects.pods[i%pods].Status.PodIP, objects.pods[(i+1)%pods].Status.PodIP)}
	}
	for i := range policies {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("policy-%d", i), UID: types.UID(fmt.Sprintf("policy-%d", i))}}
		policy.Spec.PodSelector.MatchLabels = map[string]string{"app": fmt.Sprint(i)}
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{
			{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint((i + 1) % policies)}}},
		}}}
		objects.policies = append(objects.policies, policy)
	}
	return objects
}

// counted returns an endpoint that leads to another one and counts what is received from it.
func counted(b *testing.B, endpoint string, received *atomic.Int64) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "p")
	listener, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", strings.TrimPrefix(endpoint, "unix:"))
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(io.MultiWriter(from, counter{received}), to); _ = from.Close() }()
		}
	}()
	return "unix:" + path
}

// counter counts the bytes that are written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
