// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
)

// Of what is pushed and at rest little is kept: a network of 100,000 Translations is to fit into a few hundred MiB.
func TestMemory(t *testing.T) {
	const (
		translations = 4000
		mostEach     = 2600 // bytes; what of it grows is room in maps
	)
	r := &reconciler{checks: newDemand(), now: time.Now}
	r.engine = engine.New(midonetbackend.New(nil, "midonetkube"), engine.Options{Mode: engine.Repair})
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	empty := heap()
	for i := range translations {
		text, err := atRest(i).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		watched := &midonetv1.Translation{}
		if err := watched.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		kept := pack(t, watched)
		if err := store.Add(kept); err != nil {
			t.Fatal(err)
		}
		r.observe(kept, kept.Unpack())
		// What is written later takes the place of what was there.
		kept = pack(t, watched)
		if err := store.Update(kept); err != nil {
			t.Fatal(err)
		}
		r.observe(kept, kept.Unpack())
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

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// atRest is the i-th Translation of a Pod, on one of a few hosts, as it is when it was pushed.
func atRest(i int) *midonetv1.Translation {
	id := func(kind string, i int) string { return uuid.NewSHA1(uuid.Nil, fmt.Append([]byte(kind), i)).String() }
	port, bridge, host, owner := id("port", i), id("bridge", i%20), id("host", i%20), id("pod", i)
	tr := translation(fmt.Sprintf("pod.4.web-7d4b9c6f5-%05d", i),
		midonetv1.BackendResource{Kind: "Port", Parent: bridge, Body: fmt.Sprintf(`{"id":%q,"type":"Bridge"}`, port)},
		midonetv1.BackendResource{Kind: "HostInterfacePort", Parent: host, Body: fmt.Sprintf(`{"hostId":%q,"interfaceName":"mido%08x","portId":%q}`, host, i, port)})
	tr.UID, tr.ResourceVersion = types.UID(id("translation", i)), fmt.Sprint(5000+i)
	tr.Labels = map[string]string{midonetv1.LabelOwnerUID: owner}
	tr.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: types.UID(owner)}}
	pushed := make([]engine.Pushed, len(tr.Resources))
	for k, resource := range tr.Resources {
		pushed[k] = engine.Pushed{Kind: resource.Kind, Parent: resource.Parent, ID: port, State: engine.Synced, Hash: fmt.Sprintf("%032x", i+1)}
	}
	tr.Status = nextStatus(tr, engine.Outcome{Pushed: pushed, Reason: engine.ReasonSynced}, start)
	return tr
}
