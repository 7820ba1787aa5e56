// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// BenchmarkLargeCluster caches 10,000 Klusters and 26,000 Translations, of which a tenth has findings, and opens a page: one
// operation is all of it. It reports the memory that stays, and the size of the first event.
func BenchmarkLargeCluster(b *testing.B) {
	const klusters, translations = 10_000, 26_000
	event := 0
	_, reading := newWorld(&testing.T{})
	o := optionsOf(reading)
	o.Kinds = append(o.Kinds, Kind{Title: "Translations", Name: "translation", Object: func() client.Object { return &midonetv1.Translation{} },
		List: func() client.ObjectList { return &midonetv1.TranslationList{} },
		Findings: func(object client.Object, _ time.Time) (all []report.Finding) {
			if len(object.(*midonetv1.Translation).Status.Conditions) > 0 {
				all = append(all, report.Finding{Kind: "Translations", Name: object.GetName(), Level: report.Warning, Message: "Failed: the backend rejected Port 13fb0355-e2d9-5a9f-83a6-1efd43edebbc: 409"})
			}
			return all
		}})
	load := func() *store {
		s := newStore(o)
		var all []client.Object
		for i := range klusters {
			k := klusterIn(kubernikusv1.KlusterRunning, fmt.Sprint("cluster-", i))
			if i%10 == 0 {
				k.Status.Phase = kubernikusv1.KlusterPending
			}
			all = append(all, k)
		}
		klusterList := s.list("Klusters")
		klusterList.add(all)
		klusterList.done()
		all = nil
		for i := range translations {
			t := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: fmt.Sprintf("pod.4.web-%d", i), UID: "t"}}
			t.Status.Resources = []midonetv1.BackendResourceStatus{{Kind: "Port", ID: "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", State: midonetv1.BackendResourceSynced}}
			if i%10 == 0 {
				t.Status.Conditions = []metav1.Condition{{Type: midonetv1.ConditionStalled, Status: "True", Reason: "Failed"}}
			}
			all = append(all, t)
		}
		translationList := s.list("Translations")
		translationList.add(all)
		translationList.done()
		return s
	}
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	cached := load()
	memory := inUse() - before
	runtime.KeepAlive(cached)
	for b.Loop() {
		s := load()
		data, err := json.Marshal(s.take(s.subscribe()))
		if err != nil {
			b.Fatal(err)
		}
		if _, total := s.search(search{text: "web-123", limit: 200}); total == 0 {
			b.Fatal("the search finds nothing")
		}
		event = len(data)
	}
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
	b.ReportMetric(float64(event)/(1<<20), "MiB-event")
}
