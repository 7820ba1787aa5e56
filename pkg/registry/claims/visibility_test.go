// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"maps"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
)

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
