// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
)

// accepting is a backend that accepts every resource.
type accepting struct{ *midonetbackend.Backend }

func (accepting) Create(context.Context, backend.Resource, int) error { return nil }

// TestMemory checks that the engine's memory for 100,000 Translations stays within 400 MiB.
func TestMemory(t *testing.T) {
	const (
		translations = 4000
		mostEach     = 2400 // bytes; mostly the buckets of maps
	)
	clock := clocktesting.NewFakePassiveClock(start)
	r := &reconciler{checks: newDemand(), now: clock.Now}
	r.engine = engine.New(accepting{midonetbackend.New(nil, "midonetkube")}, engine.Options{Mode: engine.Repair, Clock: clock})
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	// As from a watch, each Translation has its own memory.
	watch := func(tr *midonetv1.Translation) types.NamespacedName {
		text, err := tr.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		watched := &midonetv1.Translation{}
		if err := watched.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		kept := pack(t, watched)
		if err := store.Update(kept); err != nil {
			t.Fatal(err)
		}
		r.observe(kept, kept.Unpack())
		return kept.Key()
	}
	watch(quiet(translations)) // fills what all Translations share
	empty := heap()
	for i := range translations {
		tr := quiet(i)
		name := watch(tr)
		clock.SetTime(clock.Now().Add(time.Minute)) // the grace time for the bridge, which no Claim lists
		outcome, err := r.engine.Push(t.Context(), name)
		if err != nil || outcome.Reason != engine.ReasonSynced {
			t.Fatal(outcome, err)
		}
		tr.Status = nextStatus(tr, outcome, start)
		watch(tr)
	}
	each := (heap() - empty) / translations
	t.Logf("%d bytes each", each)
	if each > mostEach {
		t.Errorf("a Translation takes %d bytes, more than %d", each, mostEach)
	}
	if counts := r.engine.Counts(); counts[engine.Synced] != 2*translations {
		t.Errorf("they are not taken for what is in the backend: %v", counts)
	}
	runtime.KeepAlive(store)
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// quiet returns the i-th Translation of a Pod, on one of a few hosts.
func quiet(i int) *midonetv1.Translation {
	id := func(kind string, i int) string { return uuid.NewSHA1(uuid.Nil, fmt.Append([]byte(kind), i)).String() }
	port, bridge, host, owner := id("port", i), id("bridge", i%20), id("host", i%20), id("pod", i)
	tr := translation(fmt.Sprintf("pod.4.web-7d4b9c6f5-%05d", i),
		midonetv1.BackendResource{Kind: "Port", Parent: bridge, Body: fmt.Sprintf(`{"id":%q,"type":"Bridge"}`, port)},
		midonetv1.BackendResource{Kind: "HostInterfacePort", Parent: host, Body: fmt.Sprintf(`{"hostId":%q,"interfaceName":"mido%08x","portId":%q}`, host, i, port)})
	tr.UID, tr.ResourceVersion = types.UID(id("translation", i)), fmt.Sprint(5000+i)
	tr.Labels = map[string]string{midonetv1.LabelOwnerUID: owner}
	tr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: types.UID(owner)}}
	return tr
}
