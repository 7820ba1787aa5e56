// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// TestFlow checks that creating, changing and deleting cost one write each, and a period without changes none.
func TestFlow(t *testing.T) {
	s := newSky("1 shop", "2 Bank")
	s.add("1", "a", "10.0.0.1:8080")
	s.add("2", "b", "10.0.1.1:8080", "10.0.1.2:8080")
	inWorld(t, s, nil, nil, func(w *world) {
		w.expect("first", "shop/us-a 10.0.0.1", "bank/us-b 10.0.1.1 10.0.1.2")
		w.expectWrites("first", map[string]int{"create services": 2, "create endpointslices": 2})
		if last := w.replica.LastSync(); time.Since(last) > 2*time.Second {
			t.Errorf("last sync %v ago", time.Since(last))
		}
		w.after(3 * period)
		w.expectWrites("nothing changed", nil)
		if last := w.replica.LastSync(); time.Since(last) > period {
			t.Errorf("last sync %v ago", time.Since(last))
		}

		w.change(func() {
			s.octavias["1"].members["p-a"] = append(s.octavias["1"].members["p-a"], member("10.0.0.2:8080"))
		})
		w.after(period)
		w.expect("a member more", "shop/us-a 10.0.0.1 10.0.0.2", "bank/us-b 10.0.1.1 10.0.1.2")
		w.expectWrites("a member more", map[string]int{"patch endpointslices": 1})

		w.edit("1", "a", func(b *openstack.LoadBalancer) { b.Name = "renamed" })
		w.after(period)
		w.expectWrites("renamed", map[string]int{"patch services": 1})

		w.remove("1", "a")
		w.after(period)
		w.expect("deleted", "bank/us-b 10.0.1.1 10.0.1.2")
		w.expectWrites("deleted", map[string]int{"delete services": 1, "delete endpointslices": 1})
		w.expectProblems("at the end")
	})
}

// TestRequests checks that members are read once per pool, and only for pools that a listener uses.
func TestRequests(t *testing.T) {
	s := newSky("1 shop", "2 bank")
	s.add("1", "a", "10.0.0.1:8080")
	s.change(func() {
		o := s.octavias["1"]
		o.pool("unused", member("10.0.0.9:80"))
		second := o.listeners["a"][0]
		second.ID, second.Port = "l2", 443
		o.listeners["a"] = append(o.listeners["a"], second)
	})
	inWorld(t, s, nil, nil, func(w *world) {
		w.after(period)
		for project, want := range map[string]map[string]int{
			"1": {"loadbalancers": 2, "listeners": 2, "pools": 2, "members p-a": 2}, "2": {"loadbalancers": 2},
		} {
			if got := s.octavias[project].requests; !maps.Equal(got, want) {
				t.Errorf("project %s was requested %v", project, got)
			}
		}
	})
}

// TestRestart checks that a restart without changes writes nothing, and that resources that were deleted meanwhile are removed.
func TestRestart(t *testing.T) {
	s := newSky("1 shop")
	s.add("1", "a", "10.0.0.1:8080")
	here := append(copyOf("shop", "a", "10.0.0.1:8080"), copyOf("shop", "gone", "10.0.0.3:8080")...)
	inWorld(t, s, nil, here, func(w *world) {
		w.expect("after the start", "shop/us-a 10.0.0.1")
		w.expectWrites("after the start", map[string]int{"delete services": 1, "delete endpointslices": 1})
	})
}

// TestSuspiciousList checks that a list without most resources deletes nothing until a second one, ten seconds later, lacks the
// same.
func TestSuspiciousList(t *testing.T) {
	s := newSky("1 shop")
	for i := range 12 {
		s.add("1", fmt.Sprintf("lb%d", i), "10.0.0.1:8080")
	}
	inWorld(t, s, nil, nil, func(w *world) {
		w.writes()
		balancers := s.octavias["1"].balancers
		w.change(func() { s.octavias["1"].balancers = nil })
		w.after(period)
		w.expectWrites("the first listing", nil)
		w.change(func() { s.octavias["1"].balancers = balancers[:2] })
		w.after(10 * time.Second)
		w.expectWrites("the second listing", map[string]int{"delete services": 10, "delete endpointslices": 10})
	})
}

// TestSuspiciousListAndFailure checks that a project that fails while a suspicious list waits for the second one keeps its copies,
// and deletes nothing when it returns with all resources.
func TestSuspiciousListAndFailure(t *testing.T) {
	s := newSky("1 shop")
	for i := range 12 {
		s.add("1", fmt.Sprintf("lb%d", i), "10.0.0.1:8080")
	}
	inWorld(t, s, nil, nil, func(w *world) {
		w.writes()
		balancers := s.octavias["1"].balancers
		w.change(func() { s.octavias["1"].balancers = nil })
		w.after(period)
		w.fail("1", "loadbalancers", rejected(openstack.ReasonForbidden, 403))
		w.after(4 * period)
		w.expectWrites("while it fails", nil)
		w.change(func() { s.octavias["1"].balancers = balancers })
		w.fail("1", "loadbalancers", nil)
		w.after(2 * period)
		w.expectWrites("afterwards", nil)
	})
}

// A project that cannot be listed for long does not keep the second listing of others from being made; one that could be
// listed until then does.
func TestSuspiciousListWithFailure(t *testing.T) {
	s := newSky("1 shop", "2 bank")
	for i := range 12 {
		s.add("1", fmt.Sprintf("lb%d", i), "10.0.0.1:8080")
	}
	s.fail("2", "loadbalancers", rejected(openstack.ReasonForbidden, 403))
	inWorld(t, s, nil, nil, func(w *world) {
		w.writes()
		w.change(func() { s.octavias["1"].balancers = s.octavias["1"].balancers[:2] })
		w.after(period + 11*time.Second)
		w.expectWrites("the second listing", map[string]int{"delete services": 10, "delete endpointslices": 10})
		if copies, err := w.upstream.Copies(t.Context()); err != nil || len(copies) != 4 {
			t.Errorf("beside a failure that is known: %v, %v", copies, err)
		}
		w.fail("1", "pools", rejected(openstack.ReasonForbidden, 403))
		if copies, err := w.upstream.Copies(t.Context()); err == nil {
			t.Errorf("with a new failure: %v", copies)
		}
	})
}

// TestProjectThatFails checks that a project with an incomplete list keeps its copies, that others continue, and that a restart
// does not change that.
func TestProjectThatFails(t *testing.T) {
	for _, what := range []string{"token", "loadbalancers", "listeners", "pools", "members p-a"} {
		for _, restarted := range []bool{false, true} {
			s := newSky("1 shop", "2 bank")
			s.add("1", "a", "10.0.0.1:8080")
			s.add("1", "a2", "10.0.0.2:8080")
			s.add("2", "b", "10.0.1.1:8080")
			var here []runtime.Object
			if restarted {
				here = append(copyOf("shop", "a", "10.0.0.1:8080"), copyOf("shop", "a2", "10.0.0.2:8080")...)
				s.fail("1", what, rejected(openstack.ReasonForbidden, 403))
			}
			inWorld(t, s, nil, here, func(w *world) {
				w.fail("1", what, rejected(openstack.ReasonForbidden, 403))
				w.remove("1", "a2")
				w.add("2", "b2", "10.0.1.2:8080")
				w.after(2 * period)
				w.expect(what, "shop/us-a 10.0.0.1", "shop/us-a2 10.0.0.2", "bank/us-b 10.0.1.1", "bank/us-b2 10.0.1.2")
				w.expectProblems(what, "AuthenticationError: project shop (1): the backend does not let the user list load balancers")
				if s.renewed["1"] == 0 || s.renewed["2"] != 0 {
					t.Errorf("%s: tokens recreated: %v", what, s.renewed)
				}
				w.fail("1", what, nil)
				w.after(period)
				w.expect(what+" again", "shop/us-a 10.0.0.1", "bank/us-b 10.0.1.1", "bank/us-b2 10.0.1.2")
				w.expectProblems(what + " again")
			})
		}
	}
}

// TestBackendThatFails checks that all copies remain if nothing can be listed, and that one entry reports the reason.
func TestBackendThatFails(t *testing.T) {
	s := newSky("1 shop", "2 bank")
	s.add("1", "a", "10.0.0.1:8080")
	here := append(copyOf("shop", "a", "10.0.0.1:8080"), copyOf("blog", "old", "10.0.0.3:8080")...)
	s.err = rejected(openstack.ReasonCredentialsRefused, 401)
	inWorld(t, s, nil, here, func(w *world) {
		w.after(period)
		w.expectProblems("refused", "AuthenticationError: the backend rejects the credentials")
		if w.replica.Check() == nil {
			t.Error("it is ready without a listing")
		}
		w.change(func() { s.err = nil })
		for _, project := range []string{"1", "2"} {
			w.fail(project, "loadbalancers", rejected(openstack.ReasonUnreachable, 503))
		}
		w.after(period)
		w.expectProblems("Octavia is down", "ConnectionError: the backend responds with status 503")
		w.expectWrites("while it is down", nil)
		for _, project := range []string{"1", "2"} {
			w.fail(project, "loadbalancers", rejected(openstack.ReasonRateLimited, 429))
		}
		w.after(period)
		w.expectProblems("Octavia is overloaded", "RateLimited: the backend rejects requests because there are too many (status 429)")
		for _, project := range []string{"1", "2"} {
			w.fail(project, "loadbalancers", nil)
		}
		w.after(period)
		w.expectProblems("afterwards")
		w.expect("afterwards", "shop/us-a 10.0.0.1")
		last := w.replica.LastSync()
		w.change(func() { s.err = rejected(openstack.ReasonUnreachable, 0) })
		w.after(2 * period)
		if !w.replica.LastSync().Equal(last) {
			t.Error("the last sync moves while no project is known")
		}
		w.change(func() { s.err = nil })
		for _, project := range []string{"1", "2"} {
			w.fail(project, "loadbalancers", rejected(openstack.ReasonUnreachable, 503))
		}
		w.after(2 * period)
		if !w.replica.LastSync().Equal(last) {
			t.Error("the last sync moves while nothing is listed")
		}
	})
}

// TestLimitReportedDuringListing checks that a project whose requests are rejected because there are too many is reported before the
// other projects are read.
func TestLimitReportedDuringListing(t *testing.T) {
	s := newSky("1 shop", "2 bank")
	s.fail("1", "loadbalancers", rejected(openstack.ReasonRateLimited, 429))
	var reported []report.Response
	list(t.Context(), s, []tenancy{{Project: s.projects[0]}, {Project: s.projects[1]}}, 1, func(response report.Response) {
		if reported = append(reported, response); s.octavias["2"].requests["loadbalancers"] > 0 {
			t.Error("project 2 was read before the limit of project 1 was reported")
		}
	})
	if !slices.Equal(reported, []report.Response{report.Limited}) {
		t.Errorf("reported = %v, want %d once", reported, report.Limited)
	}
}

// TestPending checks that the copy of a load balancer remains while Octavia changes it, and that one that was never observed
// otherwise is not copied yet.
func TestPending(t *testing.T) {
	s := newSky("1 shop")
	s.add("1", "a", "10.0.0.1:8080")
	s.add("1", "b", "10.0.0.2:8080")
	s.add("1", "c", "10.0.0.3:8080")
	pending := func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "PENDING_UPDATE" }
	active := func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "ACTIVE" }
	s.edit("1", "b", pending)
	s.edit("1", "c", pending)
	inWorld(t, s, nil, copyOf("shop", "b", "10.0.0.7:8080"), func(w *world) {
		w.expect("at the start", "shop/us-a 10.0.0.1", "shop/us-b 10.0.0.7")
		w.edit("1", "a", pending)
		w.change(func() { s.octavias["1"].listeners["a"] = nil })
		w.after(2 * period)
		w.expect("a is pending, too", "shop/us-a 10.0.0.1", "shop/us-b 10.0.0.7")
		for _, id := range []string{"a", "b", "c"} {
			w.edit("1", id, active)
		}
		w.after(period)
		w.expect("all are active", "shop/us-a", "shop/us-b 10.0.0.2", "shop/us-c 10.0.0.3")
		w.edit("1", "b", func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "DELETED" })
		w.after(period)
		w.expect("one is deleted", "shop/us-a", "shop/us-c 10.0.0.3")
		w.edit("1", "c", func(b *openstack.LoadBalancer) { b.ProvisioningStatus = "ERROR" })
		w.after(period)
		w.expect("one is in error", "shop/us-a", "shop/us-c 10.0.0.3")
		w.expectProblems("one is in error", "InvalidService: load balancer c of project shop (1) is in ERROR")
		w.remove("1", "c")
		w.after(period)
		w.expectProblems("it has been deleted")
	})
}

// TestPoolThatIsDeletedMeanwhile checks that a pool that is deleted between two requests neither removes endpoints nor causes an
// error.
func TestPoolThatIsDeletedMeanwhile(t *testing.T) {
	s := newSky("1 shop")
	s.add("1", "a", "10.0.0.1:8080")
	inWorld(t, s, nil, nil, func(w *world) {
		w.writes()
		w.fail("1", "members p-a", rejected(openstack.ReasonNotFound, 404))
		w.after(period)
		w.expectProblems("its members went")
		w.change(func() { delete(s.octavias["1"].pools, "p-a") })
		w.after(period)
		w.expectWrites("meanwhile", nil)
		w.expectProblems("meanwhile")
	})
}
