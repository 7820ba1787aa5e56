// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// unique returns the i-th of ids that have nothing in common.
func unique(i int) string { return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)).String() }

// typical returns the i-th Translation of a Pod, in the backend.
func typical(i int) *midonetv1.Translation {
	port, bridge, host, owner := unique(10*i), unique(1), unique(2), unique(10*i+3)
	at := metav1.NewTime(time.Unix(int64(1700000000+i), 0))
	return &midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("pod.4.web-7d4b9c6f5-%05d", i), UID: types.UID(unique(10*i + 4)), ResourceVersion: fmt.Sprint(5000 + i),
			Generation: 1, CreationTimestamp: at, Labels: map[string]string{midonetv1.LabelOwnerUID: owner}, Finalizers: []string{midonetv1.FinalizerName},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: fmt.Sprintf("web-7d4b9c6f5-%05d", i), UID: types.UID(owner)}},
		},
		Resources: []midonetv1.BackendResource{
			{Kind: "Port", Parent: bridge, Body: fmt.Sprintf(`{"id":%q,"type":"Bridge"}`, port)},
			{Kind: "HostInterfacePort", Parent: host, Body: fmt.Sprintf(`{"hostId":%q,"interfaceName":"mido%08x","portId":%q}`, host, i, port)},
		},
		Status: midonetv1.TranslationStatus{
			ObservedGeneration: 1,
			Conditions: []metav1.Condition{{
				Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Synced", Message: "The backend has all resources.",
				ObservedGeneration: 1, LastTransitionTime: at,
			}},
			Resources: []midonetv1.BackendResourceStatus{
				{Kind: "Port", Parent: bridge, ID: port, State: midonetv1.BackendResourceSynced, BodyHash: strings.ReplaceAll(unique(10*i+5), "-", ""), LastTransitionTime: &at},
				{Kind: "HostInterfacePort", Parent: host, ID: port, State: midonetv1.BackendResourceSynced, BodyHash: strings.ReplaceAll(unique(10*i+6), "-", ""), LastTransitionTime: &at},
			},
		},
	}
}

func pack(t testing.TB, translation *midonetv1.Translation) *Translation {
	t.Helper()
	kept, err := Pack(translation)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestUnpack checks that a packed Translation is unpacked without its managed fields, and that the caller may change it.
func TestUnpack(t *testing.T) {
	fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 4).Funcs(
		func(at *metav1.Time, c randfill.Continue) { *at = metav1.NewTime(time.Unix(c.Int63n(1<<33), 0)) },
		func(fields *[]metav1.ManagedFieldsEntry, _ randfill.Continue) {
			*fields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		},
		func(kind *metav1.TypeMeta, _ randfill.Continue) {}, // objects of a cache do not know their kind
	)
	translations := []*midonetv1.Translation{{}, typical(0)}
	for range 200 {
		translation := &midonetv1.Translation{}
		fill.Fill(translation)
		translations = append(translations, translation)
	}
	for i, translation := range translations {
		before := translation.DeepCopy()
		kept := pack(t, translation)
		if diff := cmp.Diff(before, translation); diff != "" {
			t.Fatalf("packing changed Translation %d: %s", i, diff)
		}
		want := before.DeepCopy()
		want.ManagedFields = nil
		// Protobuf does not distinguish an empty list from none.
		text, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		want = &midonetv1.Translation{}
		if err := want.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		first := kept.Unpack()
		if diff := cmp.Diff(want, first); diff != "" {
			t.Fatalf("Translation %d: %s", i, diff)
		}
		if diff := cmp.Diff(want.Resources, kept.Resources()); diff != "" {
			t.Fatalf("resources of Translation %d: %s", i, diff)
		}
		first.Labels, first.Resources = map[string]string{"changed": ""}, nil
		if diff := cmp.Diff(want, kept.DeepCopyObject()); diff != "" {
			t.Fatalf("Translation %d, the second time: %s", i, diff)
		}
	}
}

// TestMetadata checks that metadata can be read from both forms, and from no other object.
func TestMetadata(t *testing.T) {
	translation := typical(0)
	for name, object := range map[string]any{"packed": pack(t, translation), "whole": translation} {
		metadata := Metadata(object)
		if metadata == nil {
			t.Fatalf("%s: none", name)
		}
		accessor, err := apimeta.Accessor(metadata)
		if err != nil {
			t.Fatal(err)
		}
		got := metav1.ObjectMeta{
			Namespace: accessor.GetNamespace(), Name: accessor.GetName(), UID: accessor.GetUID(), ResourceVersion: accessor.GetResourceVersion(),
			Generation: accessor.GetGeneration(), CreationTimestamp: accessor.GetCreationTimestamp(), Labels: accessor.GetLabels(),
			Finalizers: accessor.GetFinalizers(), OwnerReferences: accessor.GetOwnerReferences(),
		}
		if diff := cmp.Diff(translation.ObjectMeta, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, object := range []any{nil, translation.ObjectMeta, &corev1.Pod{}} {
		if metadata := Metadata(object); metadata != nil {
			t.Errorf("a %T has %v", object, metadata)
		}
	}
}

// TestConcurrentUse checks that concurrent packing and unpacking is safe.
func TestConcurrentUse(t *testing.T) {
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			var kept []*Translation
			for i := range 50 {
				kept = append(kept, pack(t, typical(worker*1000+i)))
			}
			for i, one := range kept {
				if diff := cmp.Diff(typical(worker*1000+i), one.Unpack()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	group.Wait()
}

// TestInCache checks that a cache stores the packed form, and that its readers receive Translations.
func TestInCache(t *testing.T) {
	translation := typical(7)
	translation.DeletionTimestamp, translation.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(1e9, 0)}, new(int64(30))
	translation.Annotations, translation.GenerateName = map[string]string{"a": "b"}, "pod-"
	kept := pack(t, translation)
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := store.Add(kept); err != nil {
		t.Fatal(err)
	}
	if found, there, err := store.GetByKey("shop/" + translation.Name); !there || err != nil || found != any(kept) {
		t.Errorf("found %v, there %v, error %v", found, there, err)
	}
	own, err := apimeta.Accessor(kept)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{
		"namespace": {own.GetNamespace(), translation.Namespace}, "name": {own.GetName(), translation.Name},
		"generateName": {own.GetGenerateName(), translation.GenerateName}, "uid": {own.GetUID(), translation.UID},
		"resourceVersion": {own.GetResourceVersion(), translation.ResourceVersion}, "generation": {own.GetGeneration(), translation.Generation},
		"selfLink": {own.GetSelfLink(), ""}, "creationTimestamp": {own.GetCreationTimestamp(), translation.CreationTimestamp},
		"deletionTimestamp":   {own.GetDeletionTimestamp(), translation.DeletionTimestamp},
		"deletionGracePeriod": {own.GetDeletionGracePeriodSeconds(), translation.DeletionGracePeriodSeconds},
		"labels":              {own.GetLabels(), translation.Labels}, "annotations": {own.GetAnnotations(), translation.Annotations},
		"finalizers": {own.GetFinalizers(), translation.Finalizers}, "ownerReferences": {own.GetOwnerReferences(), translation.OwnerReferences},
		"managedFields": {len(own.GetManagedFields()), 0}, "kind": {kept.GetObjectKind().GroupVersionKind().Empty(), true},
		"key": {kept.Key(), client.ObjectKeyFromObject(translation)},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// An attempt to change an object in a cache fails immediately.
func TestCannotBeChanged(t *testing.T) {
	kept := pack(t, typical(1))
	for what, change := range map[string]func(){
		"namespace": func() { kept.SetNamespace("") }, "name": func() { kept.SetName("") }, "generateName": func() { kept.SetGenerateName("") },
		"uid": func() { kept.SetUID("") }, "resourceVersion": func() { kept.SetResourceVersion("") }, "generation": func() { kept.SetGeneration(1) },
		"selfLink": func() { kept.SetSelfLink("") }, "creationTimestamp": func() { kept.SetCreationTimestamp(metav1.Now()) },
		"deletionTimestamp": func() { kept.SetDeletionTimestamp(nil) }, "deletionGracePeriod": func() { kept.SetDeletionGracePeriodSeconds(nil) },
		"labels": func() { kept.SetLabels(nil) }, "annotations": func() { kept.SetAnnotations(nil) }, "finalizers": func() { kept.SetFinalizers(nil) },
		"ownerReferences": func() { kept.SetOwnerReferences(nil) }, "managedFields": func() { kept.SetManagedFields(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was changed", what)
				}
			}()
			change()
		}()
	}
	if diff := cmp.Diff(typical(1), kept.Unpack()); diff != "" {
		t.Error(diff)
	}
}

func TestTransform(t *testing.T) {
	once, err := Transform(typical(1))
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := Transform(once); err != nil || twice != once {
		t.Errorf("%v became %v, error %v", once, twice, err)
	}
	deleted := cache.DeletedFinalStateUnknown{Key: "shop/a"}
	if got, err := Transform(deleted); err != nil || got != any(deleted) {
		t.Errorf("%v became %v, error %v", deleted, got, err)
	}
}

func TestForms(t *testing.T) {
	whole := typical(1)
	kept := pack(t, whole)
	if as, err := As(kept); err != nil || as != kept {
		t.Errorf("packed: %v, error %v", as, err)
	}
	as, err := As(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, as.Unpack()); diff != "" {
		t.Error(diff)
	}
	if _, err := As(&corev1.Pod{}); err == nil || !strings.Contains(err.Error(), "*v1.Pod is no Translation") {
		t.Errorf("a Pod: %v", err)
	}
	if Of(whole) != whole || Of(&corev1.Pod{}) != nil || cmp.Diff(whole, Of(kept)) != "" {
		t.Error("what an object is")
	}
}

func TestHead(t *testing.T) {
	want := typical(3)
	want.ManagedFields, want.Resources, want.Status.Resources = nil, nil, nil
	if len(want.Status.Conditions) == 0 || want.Status.ObservedGeneration == 0 {
		t.Fatal("a typical Translation has no status")
	}
	if diff := cmp.Diff(want, pack(t, typical(3)).Head()); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
}

// TestSize checks that a packed Translation of two resources has a third of the size, most of which is unique content.
func TestSize(t *testing.T) {
	const most = 0.45
	text, err := typical(12).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if size := len(pack(t, typical(12)).text); float64(size) > most*float64(len(text)) {
		t.Errorf("%d bytes of %d, which is more than %v", size, len(text), most)
	}
}

func BenchmarkPack(b *testing.B) {
	translation := typical(1)
	pack(b, translation) // the first time makes the compressor
	b.ReportAllocs()
	for b.Loop() {
		pack(b, translation)
	}
}

func BenchmarkResources(b *testing.B) {
	kept := pack(b, typical(1))
	kept.Resources()
	b.ReportAllocs()
	for b.Loop() {
		kept.Resources()
	}
}

func BenchmarkHead(b *testing.B) {
	kept := pack(b, typical(1))
	kept.Head()
	b.ReportAllocs()
	for b.Loop() {
		kept.Head()
	}
}

func BenchmarkMetadata(b *testing.B) {
	kept := pack(b, typical(1))
	Metadata(kept)
	b.ReportAllocs()
	for b.Loop() {
		Metadata(kept)
	}
}

func BenchmarkUnpack(b *testing.B) {
	kept := pack(b, typical(1))
	kept.Unpack()
	b.ReportAllocs()
	for b.Loop() {
		kept.Unpack()
	}
}
