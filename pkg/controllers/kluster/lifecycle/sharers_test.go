// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// backend is a DiscoveryBackend that copied a cluster, as the watch keeps it.
func backend(name, clusterID string, changes ...func(*gimbalv1.DiscoveryBackend)) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: name}}
	b.Status.Identity = clusterid.OfUID(clusterID)
	for _, change := range changes {
		change(b)
	}
	return b
}

// announcing is a DiscoveryBackend that was made for a Kluster.
func announcing(k *kubernikusv1.Kluster) func(*gimbalv1.DiscoveryBackend) {
	return func(b *gimbalv1.DiscoveryBackend) {
		b.Labels = map[string]string{clusterid.LabelNamespace: k.Namespace, clusterid.LabelName: k.Name, clusterid.LabelUID: string(k.UID)}
	}
}

// watchedBackends are the DiscoveryBackends that a watch has, or why it does not know them.
type watchedBackends struct {
	all []*gimbalv1.DiscoveryBackend
	err error
}

func (w *watchedBackends) Find(_ context.Context, resource schema.GroupResource, query resourcewatch.Query) (found []*resourcewatch.Object, err error) {
	for _, b := range w.all {
		object := &resourcewatch.Object{Value: b}
		if resource == backendKind().GroupResource && slices.Contains(backendKind().Indexes[query.Index](object), query.Value) {
			found = append(found, object)
		}
	}
	return found, w.err
}

func (w *watchedBackends) Serves(context.Context, schema.GroupResource) (bool, error) {
	return true, w.err
}

// TestBackendsAreNamed checks that a Kluster names the DiscoveryBackends of its cluster that were made by hand, and that its condition stays
// as it is while they are unknown.
func TestBackendsAreNamed(t *testing.T) {
	noCloud := func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true }
	a, b := klustertest.Kluster("a", noCloud), klustertest.Kluster("b", noCloud)
	byHand := backend("us", "one")
	leaving := backend("left", "one", func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
	others := []*gimbalv1.DiscoveryBackend{backend("eu", "two"), backend("new", ""), backend("a", "one", announcing(a)), leaving}
	f := newFlow(t, a, b)
	f.kubeconfig = servedBy(t, identified("one"))
	f.store.Add(f.secret("a-secret"), f.secret("b-secret"))
	for _, step := range []struct {
		name string
		// all are the backends, nil while they are unknown.
		all []*gimbalv1.DiscoveryBackend
		// twin makes the other Kluster lead to the cluster as well.
		twin bool
		// want is the condition, and names are parts of its message.
		want  string
		names []string
	}{
		{name: "they are unknown"},
		{name: "none is of the cluster, or was made by hand", all: others},
		{name: "one was made by hand", all: append(others, byHand), want: "False/SameClusterBackend", names: []string{"DiscoveryBackend gimbal-discovery/us "}},
		{name: "they are unknown again", want: "False/SameClusterBackend", names: []string{"gimbal-discovery/us "}},
		{name: "it was deleted", all: others},
		{name: "a second Kluster, and one by hand", twin: true, all: append(others, byHand), want: "False/SameCluster", names: []string{"Kluster garden-shop/b ", "DiscoveryBackend gimbal-discovery/us "}},
		{name: "a second Kluster", all: others, want: "False/SameCluster", names: []string{"Kluster garden-shop/b "}},
	} {
		f.backends.all, f.backends.err = step.all, nil
		if step.all == nil {
			f.backends.err = errors.New("not synced")
		}
		if step.twin {
			f.settled(b)
		}
		f.settled(a)
		got, text := klustertest.Condition(a, kubernikusv1.ConditionClusterUnique), message(a, kubernikusv1.ConditionClusterUnique)
		if got != step.want || strings.Contains(text, "gimbal-discovery/a") || strings.Contains(text, "gimbal-discovery/left") {
			t.Errorf("%s: condition = %q (%s), want %q", step.name, got, text, step.want)
		}
		for _, part := range step.names {
			if !strings.Contains(text, part) {
				t.Errorf("%s: message = %q, want %q in it", step.name, text, part)
			}
		}
		before := f.store.Count()
		if f.settled(a); f.store.Count() != before {
			t.Errorf("%s: %d writes without news, want none", step.name, f.store.Count()-before)
		}
	}
	// The backend that announces the one Kluster is not a stranger to the other one either.
	if f.settled(b); strings.Contains(message(b, kubernikusv1.ConditionClusterUnique), "DiscoveryBackend") {
		t.Errorf("message = %q, want no DiscoveryBackend", message(b, kubernikusv1.ConditionClusterUnique))
	}
	for len(f.recorder.Events) > 0 {
		if text := <-f.recorder.Events; strings.Contains(text, kubernikusv1.ReasonSameClusterBackend) {
			t.Errorf("event = %q, want none for what is often intended", text)
		}
	}
}

// TestOwnCluster checks that a Kluster that leads to the cluster of Groundskeeper says so, and another one does not.
func TestOwnCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		here string // "": unknown
		want string
	}{
		"the same": {"one", "False/OwnCluster"},
		"another":  {"two", ""},
		"unknown":  {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("a", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud = true })
			f := newFlow(t, k)
			if tc.here != "" {
				f.store.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(tc.here)}})
			}
			f.kubeconfig = servedBy(t, identified("one"))
			f.store.Add(f.secret("a-secret"))
			f.settled(k)
			got, text := klustertest.Condition(k, kubernikusv1.ConditionClusterUnique), message(k, kubernikusv1.ConditionClusterUnique)
			if got != tc.want || (got != "") != strings.Contains(text, kubernikusv1.DetachAnnotation) {
				t.Errorf("condition = %q (%s), want %q", got, text, tc.want)
			}
			f.r.here = &self.Cluster{Reader: klustertest.NewStore(t).Live()} // as after a start, while the namespace cannot be read
			before := f.store.Count()
			if f.settled(k); f.store.Count() != before {
				t.Errorf("%d writes without news, want none", f.store.Count()-before)
			}
		})
	}
}

// TestBackendsAreFollowed checks that a change of the cluster of a DiscoveryBackend concerns the Klusters of both clusters, and no other
// change any.
func TestBackendsAreFollowed(t *testing.T) {
	of := func(id string) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) { k.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: id} }
	}
	f := newFlow(t, klustertest.Kluster("a", of("one")), klustertest.Kluster("b", of("two")), klustertest.Kluster("c", of("three")))
	object := func(b *gimbalv1.DiscoveryBackend) *resourcewatch.Object { return &resourcewatch.Object{Value: b} }
	first, second := object(backend("us", "one")), object(backend("us", "two"))
	for name, tc := range map[string]struct {
		event resourcewatch.Event
		want  []string
	}{
		"created":             {resourcewatch.Event{New: first}, []string{"a"}},
		"created, unknown":    {resourcewatch.Event{New: object(backend("us", ""))}, nil},
		"deleted":             {resourcewatch.Event{Old: first}, []string{"a"}},
		"identified":          {resourcewatch.Event{Old: object(backend("us", "")), New: first}, []string{"a"}},
		"of another cluster":  {resourcewatch.Event{Old: first, New: second}, []string{"a", "b"}},
		"nothing of interest": {resourcewatch.Event{Old: first, New: object(backend("us", "one"))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range f.r.concernedBy(t.Context(), tc.event) {
				got = append(got, request.Name)
			}
			if slices.Sort(got); !slices.Equal(got, tc.want) {
				t.Errorf("requests = %q, want %q", got, tc.want)
			}
		})
	}
}
