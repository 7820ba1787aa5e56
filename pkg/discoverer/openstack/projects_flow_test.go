// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// TestDisputedNamespace checks that a namespace belongs to one project: another one with the same name gets nothing in it and keeps
// its existing copies, and is discovered once the conflict is resolved.
func TestDisputedNamespace(t *testing.T) {
	s := newSky("2 shop", "1 SHOP")
	s.add("2", "a", "10.0.0.1:8080")
	s.add("1", "b", "10.0.0.2:8080")
	s.add("1", "c", "10.0.0.3:8080")
	here := append(copyOf("shop", "b", "10.0.0.9:8080"), copyOf("shop", "old", "10.0.0.8:8080")...)
	inWorld(t, s, nil, here, func(w *world) {
		w.expect("disputed", "shop/us-a 10.0.0.1", "shop/us-b 10.0.0.9")
		w.expectProblems("disputed", "NameCollision: project SHOP (1) would have namespace shop, which project shop (2) has")
		if _, _, services := w.meters.Totals(); services != 1 {
			t.Errorf("%d services are to be copied", services)
		}
		w.remove("1", "b")
		w.after(period)
		w.expect("the other has it no more", "shop/us-a 10.0.0.1")
		w.change(func() { s.projects[1].Name = "blog" })
		w.after(period)
		w.expect("settled", "shop/us-a 10.0.0.1", "blog/us-c 10.0.0.3")
		w.expectProblems("settled")
	})
}

// TestDeletedProject checks that a project on the watchlist that does not exist keeps its copies, and that without a watchlist it
// is considered deleted, as Keystone reports.
func TestDeletedProject(t *testing.T) {
	for name, tc := range map[string]struct {
		watchlist []string
		restarted bool
		want      []string
		problems  []string
	}{
		"all":                  {nil, false, []string{"bank/us-b 10.0.1.1"}, nil},
		"all, restarted":       {nil, true, []string{"bank/us-b 10.0.1.1"}, nil},
		"watchlist":            {[]string{"shop", "2"}, false, []string{"bank/us-b 10.0.1.1", "shop/us-a 10.0.0.1"}, []string{"AuthenticationError: project shop of --openstack-project-watchlist"}},
		"watchlist, restarted": {[]string{"1", "2"}, true, []string{"bank/us-b 10.0.1.1", "shop/us-a 10.0.0.1"}, []string{"AuthenticationError: project 1 of"}},
	} {
		s := newSky("1 shop", "2 bank")
		s.add("1", "a", "10.0.0.1:8080")
		s.add("2", "b", "10.0.1.1:8080")
		var here []runtime.Object
		if tc.restarted {
			here = copyOf("shop", "a", "10.0.0.1:8080")
			s.projects = s.projects[1:]
		}
		inWorld(t, s, tc.watchlist, here, func(w *world) {
			if !tc.restarted {
				w.change(func() { s.projects = s.projects[1:] })
			}
			w.after(period)
			w.expect(name, tc.want...)
			w.expectProblems(name, tc.problems...)
		})
	}
}

// TestRenamedProject checks that copies follow the name of a project, whether or not it can be listed at that moment.
func TestRenamedProject(t *testing.T) {
	s := newSky("1 shop")
	s.add("1", "a", "10.0.0.1:8080")
	inWorld(t, s, nil, nil, func(w *world) {
		w.fail("1", "pools", rejected(openstack.ReasonUnreachable, 500))
		w.change(func() { s.projects[0].Name = "blog" })
		w.after(period)
		w.expect("renamed", "blog/us-a 10.0.0.1")
	})
}

// A disabled project is not requested, and keeps what it has. If it has no copies, this is not reported as a problem.
func TestDisabledProject(t *testing.T) {
	s := newSky("1 shop", "2 bank", "3 blog")
	s.add("1", "a", "10.0.0.1:8080")
	s.projects[2].Enabled = false
	inWorld(t, s, nil, nil, func(w *world) {
		w.expectProblems("one that has nothing")
		w.fail("1", "loadbalancers", rejected(openstack.ReasonForbidden, 403))
		w.fail("2", "loadbalancers", rejected(openstack.ReasonForbidden, 403))
		w.after(period)
		w.expectProblems("all others are forbidden", "AuthenticationError: the backend does not let")
		w.fail("1", "loadbalancers", nil)
		w.fail("2", "loadbalancers", nil)
		w.after(period)
		w.change(func() { s.projects[0].Enabled = false })
		requests := s.octavias["1"].requests["loadbalancers"]
		w.after(period)
		w.expect("disabled", "shop/us-a 10.0.0.1")
		w.expectProblems("disabled", "InvalidService: project shop (1): the backend has it disabled")
		if s.octavias["1"].requests["loadbalancers"] != requests {
			t.Error("it was requested")
		}
	})
}

// A namespace that is missing is waited for, and an administrator sees load balancers of other projects, which are not
// this project's.
func TestNamespaceAndOwner(t *testing.T) {
	s := newSky("1 shop", "2 new")
	s.add("1", "a", "10.0.0.1:8080")
	s.add("2", "b", "10.0.0.2:8080")
	s.edit("1", "a", func(b *openstack.LoadBalancer) { b.ProjectID = "7" })
	inWorld(t, s, nil, nil, func(w *world) {
		w.expect("no namespace")
		w.expectProblems("no namespace", "NamespaceMissing: namespace new")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
		if _, err := w.here.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.after(period)
		w.expect("with it", "new/us-b 10.0.0.2")
		w.expectProblems("with it")
	})
}

// TestUnavailableCloud checks that, without a response for one project, the others are not queried, because each would take as
// long.
func TestUnavailableCloud(t *testing.T) {
	s := newSky("1 shop", "2 bank", "3 blog", "4 a", "5 b", "6 c", "7 d", "8 e")
	for id := range s.octavias {
		s.fail(id, "loadbalancers", rejected(openstack.ReasonUnreachable, 0))
	}
	inWorld(t, s, nil, nil, func(w *world) {
		requests := 0
		for _, o := range s.octavias {
			requests += o.requests["loadbalancers"]
		}
		if requests > 3 {
			t.Errorf("%d were queried, 3 at a time", requests)
		}
		w.expectProblems("silence", "ConnectionError: the backend does not respond")
	})
}

// TestStrangeID checks that a list with an invalid id is not used.
func TestStrangeID(t *testing.T) {
	s := newSky("1 shop")
	s.add("1", "../x", "10.0.0.1:8080")
	inWorld(t, s, nil, nil, func(w *world) {
		w.expect("strange")
		w.expectProblems("strange", "ConnectionError: the backend responds with lists that are not whole")
	})
}

// TestParallel checks that conclusions are drawn only after all requests of a sync, and that their concurrency is limited.
func TestParallel(t *testing.T) {
	var items []int
	for n := range 100 {
		items = append(items, n)
	}
	for _, threads := range []int{1, 7, 200} {
		busy, done := make(chan struct{}, threads), make(chan int, len(items))
		parallel(t.Context(), threads, items, func(n int) {
			select {
			case busy <- struct{}{}:
			default:
				t.Errorf("more than %d at a time", threads)
			}
			done <- n
			<-busy
		})
		close(done)
		var got []int
		for n := range done {
			got = append(got, n)
		}
		if slices.Sort(got); !slices.Equal(got, items) {
			t.Errorf("%d threads: %v", threads, got)
		}
	}
}

// TestProblemOf checks that messages remain the same as long as the cause does, and contain a remedy.
func TestProblemOf(t *testing.T) {
	for _, reason := range []openstack.Reason{
		openstack.ReasonUnreachable, openstack.ReasonCredentialsRefused, openstack.ReasonCredentialsInvalid, openstack.ReasonForbidden, openstack.ReasonNotFound,
		openstack.ReasonRateLimited, openstack.ReasonServiceMissing, openstack.ReasonIncomplete, openstack.ReasonRefused,
	} {
		for _, status := range []int{0, 500} {
			first, second := problemOf(rejected(reason, status)), problemOf(rejected(reason, status))
			if first != second || strings.Contains(first.Message, "req-") || !strings.Contains(first.Message, ": ") {
				t.Errorf("%s: %+v, then %+v", reason, first, second)
			}
		}
	}
}
