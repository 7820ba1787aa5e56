// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// watched returns a cache that a test fills, and what its handlers were notified.
func watched(t *testing.T) (informers *Informers[*corev1.Service], filled *store[*corev1.Service], notified func() []string) {
	t.Helper()
	var events []string
	informers = NewInformers(nil, nil, Kind[*corev1.Service]{
		Example: &corev1.Service{},
		Trim:    func(s *corev1.Service) *corev1.Service { return s },
		Index:   func(s *corev1.Service) string { return s.Labels["app"] },
		Set:     func(s *corev1.Service) { events = append(events, "set "+s.Name+" "+s.ResourceVersion) },
		Changed: func(before, now *corev1.Service) {
			events = append(events, before.ResourceVersion+" to "+now.ResourceVersion)
		},
		Deleted: func(s *corev1.Service, watched bool) {
			how := " missing"
			if watched {
				how = " deleted"
			}
			events = append(events, s.Name+" "+s.ResourceVersion+how)
		},
	})
	return informers, informers.byNamespace[""], func() []string {
		defer func() { events = nil }()
		return events
	}
}

func versioned(name, version, app string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version, Labels: map[string]string{"app": app}}}
}

// TestStoreNotifies checks that handlers are notified of changes only, whether they come from a watch or a list.
func TestStoreNotifies(t *testing.T) {
	_, filled, notified := watched(t)
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"first listing", func() error { return filled.Replace([]any{versioned("a", "1", "x"), versioned("b", "2", "x")}, "9") }, []string{"set a 1", "set b 2"}},
		{"nothing new", func() error { return filled.Replace([]any{versioned("b", "2", "x"), versioned("a", "1", "x")}, "9") }, nil},
		{"added", func() error { return filled.Add(versioned("c", "3", "y")) }, []string{"set c 3"}},
		{"changed", func() error { return filled.Update(versioned("a", "4", "y")) }, []string{"1 to 4", "set a 4"}},
		{"notified again", func() error { return filled.Update(versioned("a", "4", "y")) }, nil},
		{"deleted", func() error { return filled.Delete(versioned("c", "5", "y")) }, []string{"c 5 deleted"}},
		{"never there", func() error { return filled.Delete(versioned("d", "6", "y")) }, nil},
		{"missed meanwhile", func() error { return filled.Replace([]any{versioned("a", "7", "x"), versioned("e", "8", "x")}, "9") }, []string{"4 to 7", "set a 7", "set e 8", "b 2 missing"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := notified(); !slices.Equal(got, step.want) {
			t.Errorf("%s: notified %q, want %q", step.name, got, step.want)
		}
	}
	if err := filled.Add(&corev1.Pod{}); err == nil {
		t.Error("took a Pod for a Service")
	}
}

// TestStoreIndex checks that the index has the current objects only.
func TestStoreIndex(t *testing.T) {
	informers, filled, _ := watched(t)
	names := func(app string) []string {
		var names []string
		for _, found := range informers.Indexed("shop", app) {
			names = append(names, found.Name)
		}
		return names
	}
	for _, step := range []struct {
		do   func() error
		x, y []string
	}{
		{func() error { return filled.Replace([]any{versioned("a", "1", "x"), versioned("b", "2", "x")}, "9") }, []string{"a", "b"}, nil},
		{func() error { return filled.Update(versioned("a", "3", "y")) }, []string{"b"}, []string{"a"}},
		{func() error { return filled.Delete(versioned("b", "4", "x")) }, nil, []string{"a"}},
		{func() error { return filled.Replace(nil, "9") }, nil, nil},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if x, y := names("x"), names("y"); !slices.Equal(x, step.x) || !slices.Equal(y, step.y) {
			t.Errorf("x has %v, y has %v, want %v and %v", x, y, step.x, step.y)
		}
	}
	if len(filled.byIndex) > 0 {
		t.Errorf("%v is left", filled.byIndex)
	}
}

// TestPack checks that a packed object is unpacked unchanged, as a new object each time, and that a list is packed while it is
// read.
func TestPack(t *testing.T) {
	informers, filled, _ := watched(t)
	want := versioned("a", "1", "x")
	want.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web"), AppProtocol: new("")}}
	packed, err := cache.TransformingStore(filled).Transformer()(want)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := packed.(*entry); !ok {
		t.Fatalf("%T", packed)
	}
	if err := filled.Replace([]any{packed}, "1"); err != nil {
		t.Fatal(err)
	}
	first, _ := informers.Get("shop", "a")
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	first.Labels["app"] = "changed"
	if second, _ := informers.Get("shop", "a"); second.Labels["app"] != "x" {
		t.Error("it is shared")
	}
}

// TestSynced checks that a cache is not taken for complete before each of its namespaces was listed.
func TestSynced(t *testing.T) {
	informers := NewInformers([]string{"a", "b"}, nil, Kind[*corev1.Service]{Example: &corev1.Service{}})
	for _, namespace := range []string{"a", "b"} {
		if informers.Synced() {
			t.Errorf("synced before namespace %s was listed", namespace)
		}
		if err := informers.byNamespace[namespace].Replace(nil, "1"); err != nil {
			t.Fatal(err)
		}
	}
	if !informers.Synced() {
		t.Error("not synced after both were listed")
	}
}

// pages are the responses to one list after the other; each has the token of the next.
type pages []*corev1.ServiceList

func (p *pages) List(context.Context, metav1.ListOptions) (*corev1.ServiceList, error) {
	first := (*p)[0]
	*p = (*p)[1:]
	return first, nil
}

func (*pages) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, nil }

// TestEachPage checks that a list is read to its end.
func TestEachPage(t *testing.T) {
	lists := &pages{{ListMeta: metav1.ListMeta{Continue: "more"}}, {}}
	count := 0
	if err := EachPage(t.Context(), lists, metav1.ListOptions{}, func(*corev1.ServiceList) { count++ }); err != nil || count != 2 {
		t.Errorf("pages = %d, %v, want 2", count, err)
	}
}
