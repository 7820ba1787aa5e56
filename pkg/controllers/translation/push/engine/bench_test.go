// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// serviceClaims returns Claims like those of Services with 10 endpoints each: a Table and a Rule in the common Table for the
// Service, and for each endpoint a Claim with a Table, a Rule in the Service's Table and two in its own.
func serviceClaims(services int) []Claim {
	claims := []Claim{{Name: named("global"), UID: "global", Items: Listed{table("services", 1)}}}
	for i := range services {
		service := fmt.Sprintf("svc-%06d", i)
		claims = append(claims, Claim{Name: named(service), UID: types.UID(service), Items: Listed{
			table(service, 1), rule("services", service+"-jump", 1, "Table/"+service),
		}})
		for k := range 10 {
			endpoint := fmt.Sprintf("%s-%02d", service, k)
			claims = append(claims, Claim{Name: named(endpoint), UID: types.UID(endpoint), Items: Listed{
				table(endpoint, 1), rule(service, endpoint+"-jump", 1, "Table/"+endpoint), rule(endpoint, endpoint+"-dnat", 1), rule(endpoint, endpoint+"-snat", 1),
			}})
		}
	}
	return claims
}

func countItems(claims []Claim) int {
	n := 0
	for _, c := range claims {
		n += len(c.Items.List())
	}
	return n
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkPush pushes 2,000 Services with 10 endpoints each, serially.
func BenchmarkPush(b *testing.B) {
	for _, services := range []int{2000, 20000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			claims := serviceClaims(services)
			resources := float64(countItems(claims))
			b.ReportAllocs()
			var bytes, requests float64
			for b.Loop() {
				f := newFake()
				f.quiet = true
				before := heap()
				e := New(f, Options{Mode: Repair})
				for _, c := range claims {
					e.Observe(c)
				}
				for _, c := range claims {
					if o, err := e.Push(context.Background(), c.Name); err != nil || o.Reason != ReasonSynced {
						b.Fatal(o, err)
					}
				}
				requests += float64(f.calls["create"]+f.calls["get"]+f.calls["list"]) / resources
				f.objects, f.lists = nil, nil
				bytes += float64(heap()-before) / resources
				runtime.KeepAlive(e)
			}
			b.ReportMetric(bytes/float64(b.N), "index-B/resource")
			b.ReportMetric(requests/float64(b.N), "requests/resource")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/resources, "ns/resource")
		})
	}
}

// BenchmarkRestart observes and pushes 10,000 Claims that are in sync.
func BenchmarkRestart(b *testing.B) {
	claims := serviceClaims(909)
	for i := range claims {
		for _, item := range claims[i].Items.List() {
			r, _ := newFake().Resolve(item)
			claims[i].Pushed = append(claims[i].Pushed, Pushed{Kind: r.Kind, Parent: r.Parent, ID: r.ID, State: Synced, Hash: digestOf(r.Body, r.Parent).String()})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		f := newFake()
		e := New(f, Options{Mode: Repair})
		for _, c := range claims {
			e.Observe(c)
		}
		for _, c := range claims {
			if o, err := e.Push(context.Background(), c.Name); err != nil || o.Reason != ReasonSynced {
				b.Fatal(o, err)
			}
		}
		if len(f.calls) > 0 {
			b.Fatal(f.calls)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/restart")
}

// BenchmarkDrift checks 2,000 Services that are in sync.
func BenchmarkDrift(b *testing.B) {
	claims := serviceClaims(2000)
	f := newFake()
	f.quiet = true
	e := New(f, Options{Mode: Repair})
	for _, c := range claims {
		e.Observe(c)
	}
	for _, c := range claims {
		if _, err := e.Push(context.Background(), c.Name); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := e.Drift(context.Background()); err != nil || r.Drifted > 0 {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed()/time.Millisecond)/float64(b.N), "ms/pass")
}
