// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/registry/rest"
)

func TestClaimOfVanishedHolderIsTaken(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	for _, name := range []string{"gone", "back", "stays"} {
		must(t, s.create(t.Context(), pod("one", name, name+"-node")))
	}
	for _, name := range []string{"gone", "back"} { // a hand in etcd
		_, err := c.Delete(t.Context(), objectRoot+"one/"+name)
		must(t, err)
	}
	must(t, s.create(t.Context(), pod("one", "back", "elsewhere")))
	c.check(t, "gone-node/=one/gone", "back-node/=one/back", "elsewhere/=one/back", "stays-node/=one/stays")

	must(t, s.create(t.Context(), pod("one", "a", "gone-node")))
	must(t, s.create(t.Context(), pod("one", "b", "back-node")))
	if err := s.create(t.Context(), pod("one", "c", "stays-node")); !apierrors.IsForbidden(err) {
		t.Errorf("the name of a living object was given away: %v", err)
	}
	c.check(t, "gone-node/=one/a", "back-node/=one/b", "elsewhere/=one/back", "stays-node/=one/stays")
}

func TestOwnStaleClaimIsTaken(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "p", "node")))
	_, err := c.Delete(t.Context(), objectRoot+"one/p")
	must(t, err)
	must(t, s.create(t.Context(), pod("one", "p", "node")))
	c.check(t, "node/=one/p")
}

// TestForeignClaimIsNotGivenBack deletes an object whose name another one holds, as after a hand in
// etcd: the other keeps its claim.
func TestForeignClaimIsNotGivenBack(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *server) error{
		"delete": func(t *testing.T, s *server) error { return s.delete(t.Context(), "one", "loser") },
		"update": func(t *testing.T, s *server) error {
			return s.change(t.Context(), "one", "loser", func(p *example.Pod) { p.Spec.NodeName = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			s := c.server(t, byNode())
			must(t, s.create(t.Context(), pod("one", "loser", "node")))
			_, err := c.Delete(t.Context(), claimRoot+"node/")
			must(t, err)
			must(t, s.create(t.Context(), pod("one", "winner", "node")))
			must(t, leave(t, s))
			if holder := c.keys(t, claimRoot)["node/"]; holder != objectRoot+"one/winner" {
				t.Errorf("the claim is held by %q", holder)
			}
		})
	}
}

func TestCorruptHolder(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "corrupt", "node")))
	_, err := c.Put(t.Context(), objectRoot+"one/corrupt", "not encrypted, not an object")
	must(t, err)
	for _, dry := range [][]string{dryRun, nil} {
		err := s.create(t.Context(), pod("one", "next", "node"), dry...)
		if err == nil || !strings.Contains(err.Error(), `name "node": decrypt its holder `+objectRoot+"one/corrupt") {
			t.Errorf("dry run %v: the name of an object that cannot be read: %v", dry, err)
		}
	}
	unsafe := &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}
	if _, _, err := s.GetCorruptObjDeleter().Delete(in("one"), "corrupt", rest.ValidateAllObjectFunc, unsafe); err != nil {
		t.Fatal(err)
	}
	must(t, s.create(t.Context(), pod("one", "next", "node")))
	c.check(t, "node/=one/next")
}

// TestManyStaleClaims finds more claims of vanished objects than one request removes: it gives up with a response that makes
// clients try again, and the next one continues.
func TestManyStaleClaims(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byName())
	const stale = 600
	for i := range stale {
		_, err := c.Put(t.Context(), fmt.Sprintf("%sus-%d-", claimRoot, i), fmt.Sprintf("%sone/us-%d", objectRoot, i))
		must(t, err)
	}
	err := s.create(t.Context(), pod("one", "us", ""))
	if !apierrors.IsTooManyRequests(err) {
		t.Fatalf("got %v", err)
	}
	if n := len(c.keys(t, claimRoot)); n >= stale {
		t.Errorf("%d of %d claims are left", n, stale)
	}
	must(t, s.create(t.Context(), pod("one", "us", "")))
	c.check(t, "us-=one/us")
}
