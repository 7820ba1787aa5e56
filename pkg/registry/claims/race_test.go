// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/example"
)

// race runs all requests concurrently and returns their errors.
func race(requests ...func() error) []error {
	errs := make([]error, len(requests))
	var wg sync.WaitGroup
	for i, request := range requests {
		wg.Go(func() { errs[i] = request() })
	}
	wg.Wait()
	return errs
}

// checkOneWinner fails unless exactly one request succeeded and all others were rejected.
func checkOneWinner(t *testing.T, round string, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case apierrors.IsForbidden(err), apierrors.IsAlreadyExists(err):
		default:
			t.Errorf("round %s: %v", round, err)
		}
	}
	if won != 1 {
		t.Errorf("round %s: %d requests won: %v", round, won, errs)
	}
}

func TestOneOfManyWhoWantOneName(t *testing.T) {
	c := newCluster(t)
	a, b := c.server(t, byNode()), c.server(t, byNode())
	for i := range rounds(t) {
		node := fmt.Sprint("node-", i)
		errs := race(
			func() error { return a.create(t.Context(), pod("one", fmt.Sprint("post-a-", i), node)) },
			func() error { return b.create(t.Context(), pod("two", fmt.Sprint("post-b-", i), node)) },
			func() error { return a.apply(t.Context(), pod("one", fmt.Sprint("apply-a-", i), node)) },
			func() error { return b.apply(t.Context(), pod("two", fmt.Sprint("apply-b-", i), node)) },
			func() error { return b.create(t.Context(), generated("one", "generated-", node)) },
		)
		checkOneWinner(t, node, errs)
	}
	if n := len(c.keys(t, claimRoot)); n != rounds(t) {
		t.Errorf("%d claims after %d rounds", n, rounds(t))
	}
	checkHistory(t, c, byNode())
}

func TestOneOfNamesAboveEachOther(t *testing.T) {
	c := newCluster(t)
	a, b := c.server(t, byName()), c.server(t, byName())
	for i := range rounds(t) {
		us := fmt.Sprint("us", i)
		errs := race(
			func() error { return a.create(t.Context(), pod("one", us, "")) },
			func() error { return b.create(t.Context(), pod("two", us, "")) },
			func() error { return b.apply(t.Context(), pod("one", us+"-east", "")) },
			func() error { return a.create(t.Context(), pod("two", us+"-east-1", "")) },
			func() error { return a.create(t.Context(), generated("two", us+"-east-1-", "")) },
		)
		checkOneWinner(t, us, errs)
	}
	for _, name := range []string{"e", "eu", "eua", "eu1"} {
		if err := a.create(t.Context(), pod(name, name, "")); err != nil {
			t.Errorf("%s is neither above nor below another: %v", name, err)
		}
	}
	checkHistory(t, c, byName())
}

func TestOneOfManyUpdatesToOneName(t *testing.T) {
	c := newCluster(t)
	servers := []*server{c.server(t, byNode()), c.server(t, byNode())}
	var requests []func() error
	for i := range 10 {
		name := fmt.Sprint("p", i)
		if err := servers[i%2].create(t.Context(), pod("one", name, name)); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, func() error {
			return servers[(i+1)%2].change(t.Context(), "one", name, func(p *example.Pod) { p.Spec.NodeName = "wanted" })
		})
	}
	checkOneWinner(t, "update", race(requests...))
	if n := len(c.keys(t, claimRoot)); n != 10 {
		t.Errorf("%d claims of 10 objects", n)
	}
	checkHistory(t, c, byNode())
}

// TestAbandonedRequests ends requests at any moment: responses are lost, what was sent may be done or not, and object and claim
// agree nevertheless.
func TestAbandonedRequests(t *testing.T) {
	c := newCluster(t)
	servers := []*server{c.server(t, byNode()), c.server(t, byNode())}
	var wg sync.WaitGroup
	for worker := range 4 {
		random := rand.New(rand.NewPCG(uint64(worker), 1))
		wg.Go(func() {
			for range 20 * rounds(t) {
				s := servers[random.IntN(2)]
				name, node := fmt.Sprint("p", random.IntN(6)), fmt.Sprint("n", random.IntN(4))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(12000))*time.Microsecond)
				var err error
				switch random.IntN(4) {
				case 0:
					err = s.create(ctx, pod("one", name, node))
				case 1:
					err = s.apply(ctx, pod("one", name, node))
				case 2:
					err = s.change(ctx, "one", name, func(p *example.Pod) { p.Spec.NodeName = "" })
				case 3:
					err = s.delete(ctx, "one", name)
				}
				// etcd may know of the end first; a read, then, gets the response of one that found no etcd.
				abandoned := ctx.Err() != nil || errors.Is(err, rpctypes.ErrTimeout) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
				cancel()
				expected := err == nil || abandoned || slices.ContainsFunc(
					[]func(error) bool{apierrors.IsForbidden, apierrors.IsAlreadyExists, apierrors.IsNotFound, apierrors.IsConflict, apierrors.IsInvalid},
					func(is func(error) bool) bool { return is(err) })
				if !expected {
					t.Errorf("%s %s: %v", name, node, err)
				}
			}
		})
	}
	wg.Wait()
	checkHistory(t, c, byNode())
}

// TestUpdateDecidesAgain changes an object while an update of it is under way: the update is decided
// again for what the object is by then, and so are the names.
func TestUpdateDecidesAgain(t *testing.T) {
	c := newCluster(t)
	a, b := c.server(t, byNode()), c.server(t, byNode())
	must(t, a.create(t.Context(), pod("one", "p", "node")))
	tries := 0
	must(t, a.change(t.Context(), "one", "p", func(p *example.Pod) {
		if tries++; tries == 1 {
			must(t, b.change(t.Context(), "one", "p", func(p *example.Pod) { p.Spec.NodeName = "moved" }))
			p.Spec.NodeName = "first"
		} else {
			p.Labels = map[string]string{"try": fmt.Sprint(tries)}
		}
	}))
	if tries < 2 {
		t.Errorf("the update was decided %d times", tries)
	}
	c.check(t, "moved/=one/p")
	checkHistory(t, c, byNode())
}

func TestDeleteDecidesAgain(t *testing.T) {
	c := newCluster(t)
	a, b := c.server(t, byNode()), c.server(t, byNode())
	must(t, a.create(t.Context(), pod("one", "p", "node")))
	tries := 0
	must(t, a.deleteIf("one", "p", func(*example.Pod) error {
		if tries++; tries == 1 {
			return b.change(t.Context(), "one", "p", func(p *example.Pod) { p.Spec.NodeName = "moved" })
		}
		return nil
	}))
	if tries < 2 {
		t.Errorf("the deletion was decided %d times", tries)
	}
	c.check(t)
	checkHistory(t, c, byNode())
}
