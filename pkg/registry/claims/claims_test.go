// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/registry/rest"

	"groundskeeper.io/groundskeeper/pkg/registry/claims"
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

func TestRefusedWritesClaimNothing(t *testing.T) {
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
		t.Errorf("refused requests wrote: revision %d, before %d", after, before)
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

func TestDryRunIsRefusedLikeTheWrite(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "first", "taken")))
	must(t, s.create(t.Context(), pod("one", "gone", "stale")))
	must(t, s.create(t.Context(), pod("one", "unnamed", "")))
	_, err := c.Delete(t.Context(), objectRoot+"one/gone")
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
	c.check(t, "taken/=one/first", "stale/=one/gone")
}

func isNil(err error) bool { return err == nil }

func TestLevels(t *testing.T) {
	s := newCluster(t).server(t, byName())
	for _, test := range []struct {
		held, wanted string
		free         bool
	}{
		{"us", "us", false},
		{"us", "us-east", false},
		{"us", "us-east-1", false},
		{"us-east-1", "us", false},
		{"us-east-1", "us-east", false},
		{"us-east", "us-west", true},
		{"us-east", "us-east1", true},
		{"us", "usa", true},
		{"usa", "us", true},
		{"us-1", "us-10", true},
	} {
		t.Run(test.held+" "+test.wanted, func(t *testing.T) {
			must(t, s.create(t.Context(), pod("one", test.held, "")))
			for _, dry := range [][]string{dryRun, nil} {
				err := s.create(t.Context(), pod("two", test.wanted, ""), dry...)
				if test.free && err != nil || !test.free && !apierrors.IsForbidden(err) {
					t.Errorf("dry run %v: %v", dry, err)
				}
				if !test.free && !strings.Contains(err.Error(), `"`+test.held+`" is taken`) {
					t.Errorf("dry run %v: %v does not name the held name", dry, err)
				}
			}
			must(t, s.delete(t.Context(), "one", test.held))
			if test.free {
				must(t, s.delete(t.Context(), "two", test.wanted))
			}
		})
	}
}

func TestTooManyLevels(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	most := strings.Repeat("a/", 125) + "a"
	must(t, s.create(t.Context(), pod("one", "most", most)))
	must(t, s.delete(t.Context(), "one", "most"))
	for _, dry := range [][]string{dryRun, nil} {
		if err := s.create(t.Context(), pod("one", "more", "a/"+most), dry...); !apierrors.IsBadRequest(err) {
			t.Errorf("dry run %v: got %v", dry, err)
		}
	}
	must(t, s.create(t.Context(), pod("one", "moved", "b")))
	must(t, s.change(t.Context(), "one", "moved", func(p *example.Pod) { p.Spec.NodeName = most }))
	checkHistory(t, c, byNode())
}

func TestRenameBelowItselfIsRefused(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "p", "us/east")))
	for _, node := range []string{"us", "us/east/1"} {
		if err := s.change(t.Context(), "one", "p", func(p *example.Pod) { p.Spec.NodeName = node }); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v", node, err)
		}
	}
	c.check(t, "us/east/=one/p")
}

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
	// The lease ends: the object goes, its name is free again.
	_, err = c.Revoke(t.Context(), clientv3.LeaseID(object.Kvs[0].Lease))
	must(t, err)
	must(t, s.create(t.Context(), pod("one", "next", "node")))
	c.check(t, "node/=one/next")
}

func TestIncompleteRule(t *testing.T) {
	whole := byNode()
	for name, rule := range map[string]claims.Rule{
		"separator": {Name: whole.Name, Refused: whole.Refused},
		"name":      {Separator: "/", Refused: whole.Refused},
		"refusal":   {Separator: "/", Name: whole.Name},
	} {
		if _, err := claims.New(claims.Config{Rule: rule, Resource: pods}); err == nil {
			t.Errorf("a rule without %s was accepted", name)
		}
	}
}
