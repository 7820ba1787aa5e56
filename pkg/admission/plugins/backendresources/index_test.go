// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func namesOf(holders []holder) []string {
	var names []string
	for _, h := range holders {
		names = append(names, h.namespace+"/"+h.name)
	}
	slices.Sort(names)
	return names
}

// After any writes, in any order, the index returns the same as a walk over all Translations.
func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = fmt.Sprintf("13fb0355-e2d9-5a9f-83a6-1efd43edeb%02x", i)
	}
	x, all := newIndex(0), map[string]*midonetv1.Translation{}
	for round := range 1000 {
		name := strconv.Itoa(random.IntN(8))
		object := translation("n", name, nil)
		for range random.IntN(5) { // also the same one twice
			object.Resources = append(object.Resources, chain(ids[random.IntN(len(ids))]))
		}
		switch action := random.IntN(20); {
		case action < 5:
			delete(all, name)
			x.Remove(holderOf(object))
		case action < 8:
			object.DeletionTimestamp = new(metav1.Now())
			fallthrough
		default:
			all[name] = object
			x.Put(holderOf(object))
		}
		for _, id := range ids {
			ref, _ := identify(chain(id))
			var want []string
			for _, o := range all {
				if holderOf(o).holds(digestRef(ref)) {
					want = append(want, "n/"+o.Name)
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, namesOf(x.holdersOf(digestRef(ref)))); diff != "" {
				t.Fatalf("round %d: %s is held by (-want +got):\n%s", round, id, diff)
			}
		}
	}
	for name := range all {
		x.Remove(holderOf(translation("n", name, nil)))
	}
	if len(x.byName)+len(x.first)+len(x.more) != 0 || len(x.free) != len(x.holders) || len(x.holders) > 8 {
		t.Errorf("something is left: %d names, %d and %d resources, %d places of %d free", len(x.byName), len(x.first), len(x.more), len(x.free), len(x.holders))
	}
}

// BenchmarkIndex fills an index with 200,000 Translations of 4 resources each and reports what it keeps for one
// resource, the share of its Translation included.
func BenchmarkIndex(b *testing.B) {
	const translations, each = 200_000, 4
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		x := newIndex(translations)
		for i := range translations {
			object := translation("namespace-"+strconv.Itoa(i%500), "endpoints-port.4.service-"+strconv.Itoa(i), owned(fmt.Sprintf("13fb0355-e2d9-5a9f-83a6-%012x", i)))
			for j := range each {
				object.Resources = append(object.Resources, chain(fmt.Sprintf("13fb0355-e2d9-5a9f-83a6-%012x", i*each+j)))
			}
			x.Put(holderOf(object))
		}
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/translations/each, "B/resource")
		runtime.KeepAlive(x)
		b.StartTimer()
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
