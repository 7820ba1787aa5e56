// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/example"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// server is the store with the requests of the tests.
type server struct{ claims.Store }

// waitReady waits until the watch cache serves.
func (s *server) waitReady(t *testing.T) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.ReadinessCheckFunc() == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func in(namespace string) context.Context {
	return genericapirequest.WithNamespace(genericapirequest.NewContext(), namespace)
}

func pod(namespace, name, node string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: example.PodSpec{NodeName: node}}
}

func generated(namespace, generateName, node string) *example.Pod {
	p := pod(namespace, "", node)
	p.GenerateName = generateName
	return p
}

func (s *server) create(ctx context.Context, p *example.Pod, dry ...string) error {
	_, err := s.Create(genericapirequest.WithNamespace(ctx, p.Namespace), p.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dry})
	return err
}

// apply creates or replaces, on the path of server-side apply.
func (s *server) apply(ctx context.Context, p *example.Pod, dry ...string) error {
	return s.change(ctx, p.Namespace, p.Name, func(current *example.Pod) {
		current.Namespace, current.Name, current.Spec, current.Finalizers = p.Namespace, p.Name, p.Spec, p.Finalizers
	}, dry...)
}

func (s *server) change(ctx context.Context, namespace, name string, change func(*example.Pod), dry ...string) error {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		p := old.DeepCopyObject().(*example.Pod)
		change(p)
		return p, nil
	})
	_, _, err := s.Update(genericapirequest.WithNamespace(ctx, namespace), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{DryRun: dry})
	return err
}

func (s *server) delete(ctx context.Context, namespace, name string, dry ...string) error {
	_, _, err := s.Delete(genericapirequest.WithNamespace(ctx, namespace), name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dry})
	return err
}

func TestDryRunIsRejectedLikeTheWrite(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "first", "taken")))
	must(t, s.create(t.Context(), pod("one", "gone", "stale")))
	must(t, s.create(t.Context(), pod("one", "unnamed", "")))
	_, err := c.Delete(t.Context(), objectRoot+"one/gone")
	must(t, err)
	must(t, s.create(t.Context(), pod("one", "loser", "lost"))) // lost its claim to another by a hand in etcd
	_, err = c.Put(t.Context(), claimRoot+"lost/", objectRoot+"one/first")
	must(t, err)
	before := c.revision(t)
	setNode := func(node string) func(*example.Pod) { return func(p *example.Pod) { p.Spec.NodeName = node } }

	for name, request := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"create, taken":           {s.create(t.Context(), pod("one", "second", "taken"), dryRun...), apierrors.IsForbidden},
		"create, taken, generate": {s.create(t.Context(), generated("one", "g-", "taken"), dryRun...), apierrors.IsAlreadyExists},
		"create, free":            {s.create(t.Context(), pod("one", "second", "free"), dryRun...), isNil},
		"create, stale claim":     {s.create(t.Context(), pod("one", "second", "stale"), dryRun...), isNil},
		"create, no name":         {s.create(t.Context(), pod("one", "second", ""), dryRun...), isNil},
		"create, object exists":   {s.create(t.Context(), pod("one", "first", "taken"), dryRun...), apierrors.IsAlreadyExists},
		"apply, taken":            {s.apply(t.Context(), pod("one", "second", "taken"), dryRun...), apierrors.IsForbidden},
		"apply, own":              {s.apply(t.Context(), pod("one", "first", "taken"), dryRun...), isNil},
		"update, taken":           {s.change(t.Context(), "one", "unnamed", setNode("taken"), dryRun...), apierrors.IsForbidden},
		"update, not the name":    {s.change(t.Context(), "one", "loser", func(p *example.Pod) { p.Labels = map[string]string{"a": "b"} }, dryRun...), isNil},
		"update, free":            {s.change(t.Context(), "one", "unnamed", setNode("free"), dryRun...), isNil},
		"delete":                  {s.delete(t.Context(), "one", "first", dryRun...), isNil},
	} {
		if !request.is(request.err) {
			t.Errorf("%s: got %v", name, request.err)
		}
	}
	if after := c.revision(t); after != before {
		t.Errorf("dry runs wrote: revision %d, before %d", after, before)
	}
	c.check(t, "taken/=one/first", "stale/=one/gone", "lost/=one/first")
}

func isNil(err error) bool { return err == nil }

func TestClaimsAreNeverSeen(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	s.waitReady(t)
	w, err := s.Watch(in(""), &internalversion.ListOptions{})
	must(t, err)
	defer w.Stop()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		must(t, s.create(t.Context(), pod("one", name, name)))
	}
	for _, resourceVersion := range []string{"", "0"} {
		list, err := s.List(in(""), &internalversion.ListOptions{ResourceVersion: resourceVersion})
		must(t, err)
		if resourceVersion == "" && len(list.(*example.PodList).Items) != len(names) {
			t.Errorf("list has %d objects", len(list.(*example.PodList).Items))
		}
	}
	seen := map[string]bool{}
	for range names {
		o := (<-w.ResultChan()).Object
		if cached, ok := o.(runtime.CacheableObject); ok {
			o = cached.GetObject()
		}
		seen[o.(*example.Pod).Name] = true
	}
	if !slices.Equal(slices.Sorted(maps.Keys(seen)), names) {
		t.Errorf("watch saw %v", seen)
	}
	stats, err := s.Storage.Storage.Stats(t.Context())
	must(t, err)
	if stats.ObjectCount != int64(len(names)) {
		t.Errorf("%d objects counted", stats.ObjectCount)
	}
}

func TestLeaseIsKept(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	p := pod("one", "leased", "node")
	p.Spec.ActiveDeadlineSeconds = new(int64(3600))
	must(t, s.create(t.Context(), p))
	object, err := c.KV.Get(t.Context(), objectRoot+"one/leased")
	must(t, err)
	if object.Kvs[0].Lease == 0 {
		t.Error("the object has no lease")
	}
	// The claim has none: a later update may end the lease of the object.
	claim, err := c.KV.Get(t.Context(), claimRoot+"node/")
	must(t, err)
	if claim.Kvs[0].Lease != 0 {
		t.Error("the claim has a lease")
	}
	// The lease ends: the object is deleted, its name is free again.
	_, err = c.Revoke(t.Context(), clientv3.LeaseID(object.Kvs[0].Lease))
	must(t, err)
	must(t, s.create(t.Context(), pod("one", "next", "node")))
	c.check(t, "node/=one/next")
}
