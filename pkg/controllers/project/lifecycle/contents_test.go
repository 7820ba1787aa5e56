// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

func kluster(namespace, name string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func backend(namespace, name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// followed follows the blocking kinds of a cluster: what the watches know and what the API server has may differ.
type followed struct {
	*cluster
	known, live client.Reader
	handlers    []func(resourcewatch.Event)
	settledErr  error
}

func (f *followed) Known(resource schema.GroupResource, namespace string) ([]*resourcewatch.Object, error) {
	return f.list(context.Background(), f.known, resource, namespace)
}

func (f *followed) Live(patience time.Duration) resourcewatch.Reader {
	if patience != 0 {
		f.t.Error("a kind that kept namespaces is discarded after a while")
	}
	return f
}

func (f *followed) Find(ctx context.Context, resource schema.GroupResource, query resourcewatch.Query) ([]*resourcewatch.Object, error) {
	if f.servedErr != nil {
		return nil, f.servedErr
	}
	return f.list(ctx, f.live, resource, query.Namespace)
}

func (f *followed) Serves(_ context.Context, resource schema.GroupResource) (bool, error) {
	return f.served[resource], f.servedErr
}

func (f *followed) Settled(context.Context, ...schema.GroupResource) error { return f.settledErr }

func (f *followed) Subscribe(handle func(resourcewatch.Event), _ ...schema.GroupResource) {
	f.handlers = append(f.handlers, handle)
}

func (f *followed) list(ctx context.Context, from client.Reader, resource schema.GroupResource, namespace string) ([]*resourcewatch.Object, error) {
	if !f.served[resource] {
		return nil, nil
	}
	kind := map[schema.GroupResource]schema.GroupVersionKind{
		usage.Klusters:          kubernikusv1.SchemeGroupVersion.WithKind("KlusterList"),
		usage.DiscoveryBackends: gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackendList"),
		usage.Shoots:            gardenerv1beta1.SchemeGroupVersion.WithKind("ShootList"),
	}[resource]
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := from.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var objects []*resourcewatch.Object
	for i := range list.Items {
		meta := &list.Items[i].ObjectMeta
		objects = append(objects, &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID}})
	}
	return objects, nil
}

func TestBlockingKinds(t *testing.T) {
	var got []string
	for _, kind := range blockingKinds() {
		got = append(got, kind.kind+" "+kind.resource.String())
	}
	want := []string{"Kluster klusters.kubernikus.sap.cc", "DiscoveryBackend discoverybackends.gimbal.heptio.com", "Shoot shoots.core.gardener.cloud"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestContentSource checks that every creation and deletion wakes its Project, and nothing else, and that no worker starts before
// the existing objects are known.
func TestContentSource(t *testing.T) {
	c := newCluster(t)
	dev := c.project("dev")
	c.settle("dev")
	s := contentSource{c.reconciler.contents, mapper{cache: c.store}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := s.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	inside := &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: *dev.Spec.Namespace, Name: "a"}}
	outside := &resourcewatch.Object{Identity: resourcewatch.Identity{Namespace: "default", Name: "a"}}
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  int
	}{
		"created":   {resourcewatch.Event{New: inside}, 1},
		"deleted":   {resourcewatch.Event{Old: inside}, 1},
		"changed":   {resourcewatch.Event{Old: inside, New: inside}, 0},
		"elsewhere": {resourcewatch.Event{New: outside}, 0},
	} {
		c.followed.handlers[0](test.event)
		if got := queue.Len(); got != test.want {
			t.Errorf("%s: %d requests", name, got)
		}
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
		}
	}
	if err := s.WaitForSync(t.Context()); err != nil {
		t.Error(err)
	}
	c.followed.settledErr = errors.New("the API server does not respond for klusters")
	if err := s.WaitForSync(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "find the objects that block the deletion of project namespaces") {
		t.Errorf("got %v", err)
	}
}

func TestContents(t *testing.T) {
	c := newCluster(t, kluster("garden-a", "z"), kluster("garden-a", "b"), backend("garden-a", "west"), kluster("garden-b", "other"))
	for namespace, want := range map[string][]string{
		"garden-a": {"Kluster b", "Kluster z", "DiscoveryBackend west"},
		"garden-b": {"Kluster other"},
		"garden-c": nil,
	} {
		for source, list := range map[string]func(context.Context, string) ([]string, error){
			"cache": func(_ context.Context, namespace string) ([]string, error) {
				return c.reconciler.contents.cached(namespace)
			},
			"API server": c.reconciler.contents.current,
		} {
			got, err := list(t.Context(), namespace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in the %s:\n%s", namespace, source, diff)
			}
		}
	}
}

// TestCurrentContentsAreKnownOrAnError checks that a deletion is decided by the API server's response, and that without one the
// contents are unknown.
func TestCurrentContentsAreKnownOrAnError(t *testing.T) {
	shoot := usage.Shoots
	rejected := errors.New("rejected")
	for name, test := range map[string]struct {
		prepare func(*cluster)
		want    string
	}{
		"all known":                 {func(*cluster) {}, ""},
		"a kind that is not served": {func(c *cluster) { c.served[shoot] = false }, ""},
		"discovery fails":           {func(c *cluster) { c.servedErr = rejected }, `find the objects that block the deletion of namespace "garden-a": rejected`},
		"listing fails": {func(c *cluster) {
			c.store.Read = func(_ string, list runtime.Object) error {
				if list.GetObjectKind().GroupVersionKind().Kind == "DiscoveryBackendList" {
					return rejected
				}
				return nil
			}
		}, `find the objects that block the deletion of namespace "garden-a": rejected`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, kluster("garden-a", "a"))
			test.prepare(c)
			occupants, err := c.reconciler.contents.current(t.Context(), "garden-a")
			if test.want == "" {
				if err != nil || len(occupants) != 1 {
					t.Errorf("got %q, %v", occupants, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %q, %v", occupants, err)
			}
		})
	}
}

func TestShootsCountWhereServed(t *testing.T) {
	shoot := usage.Shoots
	c := newCluster(t)
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gardenerv1beta1.SchemeGroupVersion.WithKind("Shoot"))
	object.Namespace, object.Name = "garden-a", "crazy-botany"
	if err := c.store.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	for _, served := range []bool{false, true} {
		c.served[shoot] = served
		got, err := c.reconciler.contents.current(t.Context(), "garden-a")
		if err != nil || (len(got) == 1 && got[0] == "Shoot crazy-botany") != served {
			t.Errorf("served %t: got %q, %v", served, got, err)
		}
	}
}

func TestOccupiedMessage(t *testing.T) {
	if got, want := occupiedMessage("garden-a", []string{"Kluster a", "Kluster b"}),
		`namespace "garden-a" still has Kluster a, Kluster b: delete them to complete the deletion of the project`; got != want {
		t.Errorf("got %q", got)
	}
	many := make([]string, maxOccupants+1)
	for i := range many {
		many[i] = fmt.Sprintf("Kluster k%02d", i)
	}
	got := occupiedMessage("garden-a", many)
	if !strings.Contains(got, "Kluster k09 and more: ") || strings.Contains(got, "k10") {
		t.Errorf("got %q", got)
	}
	if more := occupiedMessage("garden-a", append(many, "Kluster z")); more != got {
		t.Errorf("one more changes the message: %q", more)
	}
}
