// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/example"
)

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
