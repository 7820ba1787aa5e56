// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// check compares the claims in etcd, "name separator=namespace/object" each.
func (c *cluster) check(t *testing.T, want ...string) {
	t.Helper()
	var have []string
	for claim, holder := range c.keys(t, claimRoot) {
		have = append(have, claim+"="+strings.TrimPrefix(holder, objectRoot))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("claims are %v, want %v", have, want)
	}
}

// revision is etcd's current one: it changes with every write.
func (c *cluster) revision(t *testing.T) int64 {
	t.Helper()
	got, err := c.KV.Get(t.Context(), "nothing")
	if err != nil {
		t.Fatal(err)
	}
	return got.Header.Revision
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestClaimFollowsItsObject(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	setNode := func(node string) func(*example.Pod) { return func(p *example.Pod) { p.Spec.NodeName = node } }

	must(t, s.create(t.Context(), pod("one", "unnamed", "")))
	c.check(t)
	must(t, s.change(t.Context(), "one", "unnamed", setNode("late")))
	c.check(t, "late/=one/unnamed")
	must(t, s.apply(t.Context(), pod("one", "applied", "early")))
	c.check(t, "late/=one/unnamed", "early/=one/applied")
	must(t, s.change(t.Context(), "one", "applied", setNode("moved")))
	c.check(t, "late/=one/unnamed", "moved/=one/applied")
	must(t, s.change(t.Context(), "one", "applied", func(p *example.Pod) { p.Labels = map[string]string{"a": "b"} }))
	c.check(t, "late/=one/unnamed", "moved/=one/applied")
	must(t, s.change(t.Context(), "one", "applied", setNode("")))
	c.check(t, "late/=one/unnamed")
	must(t, s.create(t.Context(), pod("two", "other", "moved")))
	must(t, s.delete(t.Context(), "one", "unnamed"))
	c.check(t, "moved/=two/other")
	must(t, s.delete(t.Context(), "two", "other"))
	c.check(t)
	checkHistory(t, c, byNode())
}

// TestUpdateInPlace changes the very object that the store hands out.
func TestUpdateInPlace(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "p", "node")))
	must(t, s.Storage.Storage.GuaranteedUpdate(t.Context(), "/example.apiserver.k8s.io/pods/one/p", &example.Pod{}, false, nil,
		storage.SimpleUpdate(func(o runtime.Object) (runtime.Object, error) {
			o.(*example.Pod).Spec.NodeName = "moved"
			return o, nil
		}), nil))
	c.check(t, "moved/=one/p")
}

func TestFinalizerHoldsTheClaim(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	p := pod("one", "held", "node")
	p.Finalizers = []string{"example.com/hold"}
	must(t, s.create(t.Context(), p))
	must(t, s.delete(t.Context(), "one", "held"))
	if err := s.create(t.Context(), pod("one", "next", "node")); !apierrors.IsForbidden(err) {
		t.Errorf("the name of an object that is being deleted was given away: %v", err)
	}
	release := func(p *example.Pod) { p.Finalizers = nil }
	must(t, s.change(t.Context(), "one", "held", release, dryRun...))
	c.check(t, "node/=one/held")
	must(t, s.change(t.Context(), "one", "held", release))
	c.check(t)
	must(t, s.create(t.Context(), pod("one", "next", "node")))
	checkHistory(t, c, byNode())
}

func TestRejectedWritesReserveNothing(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "first", "taken")))
	before := c.revision(t)
	invalid := pod("one", "invalid", "free")
	invalid.Status.Message = "invalid"
	conflict := func(p *example.Pod) { p.ResourceVersion, p.Spec.NodeName = "1", "free" }
	deny := func(_ *example.Pod) error { return apierrors.NewForbidden(pods, "", nil) }

	for name, request := range map[string]struct {
		err error
		is  func(error) bool
	}{
		"taken":             {s.create(t.Context(), pod("one", "second", "taken")), apierrors.IsForbidden},
		"taken, generated":  {s.create(t.Context(), generated("one", "g-", "taken")), apierrors.IsAlreadyExists},
		"taken, applied":    {s.apply(t.Context(), pod("one", "second", "taken")), apierrors.IsForbidden},
		"object exists":     {s.create(t.Context(), pod("one", "first", "free")), apierrors.IsAlreadyExists},
		"invalid":           {s.create(t.Context(), invalid), apierrors.IsInvalid},
		"conflict":          {s.change(t.Context(), "one", "first", conflict), apierrors.IsConflict},
		"no such object":    {s.delete(t.Context(), "one", "none"), apierrors.IsNotFound},
		"admission, create": {s.createIf(pod("one", "second", "free"), deny), apierrors.IsForbidden},
		"admission, delete": {s.deleteIf("one", "first", deny), apierrors.IsForbidden},
	} {
		if !request.is(request.err) {
			t.Errorf("%s: got %v", name, request.err)
		}
	}
	if after := c.revision(t); after != before {
		t.Errorf("rejected requests wrote: revision %d, before %d", after, before)
	}
	c.check(t, "taken/=one/first")
}

func (s *server) createIf(p *example.Pod, admit func(*example.Pod) error) error {
	_, err := s.Create(in(p.Namespace), p, admission(admit), &metav1.CreateOptions{})
	return err
}

func (s *server) deleteIf(namespace, name string, admit func(*example.Pod) error) error {
	_, _, err := s.Delete(in(namespace), name, admission(admit), &metav1.DeleteOptions{})
	return err
}

func admission(admit func(*example.Pod) error) rest.ValidateObjectFunc {
	return func(_ context.Context, o runtime.Object) error { return admit(o.(*example.Pod)) }
}
