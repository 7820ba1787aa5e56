// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// site is a router with a cluster, on a fake cloud.
type site struct {
	*fake.Server
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	pass    Pass
	network string
	target  Target
	history History
}

func newSite(t *testing.T, o fake.Options) *site {
	t.Helper()
	s := &site{Server: fake.New(o), t: t, clock: clocktesting.NewFakePassiveClock(time.Now())}
	t.Cleanup(s.Close)
	s.AddUser("gardener", "password", "garden")
	s.network = s.AddNetwork("10.0.0.0/24")
	client := s.login("gardener", "garden", "")
	s.pass = Pass{Project: client.ProjectID(), Network: client.Network(), Compute: client.Compute(), Clock: s.clock}
	s.target = Target{RouterID: s.AddRouter("garden", s.network), Scope: scope(),
		Limits: Limits{ConfirmAfter: 30 * time.Second, Interval: 5 * time.Minute, MaxRemovalFraction: 0.5}}
	return s
}

// login returns a client of a user in a project and a region, "" for the only one.
func (s *site) login(user, project, region string) *openstack.Client {
	s.t.Helper()
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, MaxBackoff: time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := clients.Get(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"}, Data: map[string][]byte{
		"openstack-auth-url": []byte(s.AuthURL()), "openstack-username": []byte(user), "openstack-password": []byte("password"),
		"openstack-domain-name": []byte("Default"), "openstack-project-id": []byte(project), "openstack-region": []byte(region),
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// run reconciles once some time after the last one.
func (s *site) run(after time.Duration) (Result, error) {
	s.t.Helper()
	s.clock.SetTime(s.clock.Now().Add(after))
	return s.pass.Run(context.Background(), s.target, &s.history)
}

// mustRun wants the reconciliation to succeed.
func (s *site) mustRun(after time.Duration) Result {
	s.t.Helper()
	r, err := s.run(after)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// oracle makes the servers of the oracle: .5 with the floating address 1.2.3.4, and .9 in status ERROR.
func (s *site) oracle() (active, failed string) {
	active, failed = s.AddServer("garden", s.network, "10.0.0.5", "ACTIVE"), s.AddServer("garden", s.network, "10.0.0.9", "ERROR")
	s.AddFloatingIP("garden", "1.2.3.4", active)
	return active, failed
}

func routes(texts ...string) []fake.Route {
	var all []fake.Route
	for _, text := range texts {
		destination, hop, _ := strings.Cut(text, " ")
		all = append(all, fake.Route{Destination: destination, NextHop: hop})
	}
	return all
}

func TestOracle(t *testing.T) {
	for name, c := range map[string]struct{ have, deleted []fake.Route }{
		"only the orphan owned by Groundskeeper": {
			routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "192.168.0.0/24 10.0.0.77", "100.101.0.0/24 10.0.0.6"), routes("100.100.2.0/24 10.0.0.6")},
		"nothing to do":          {routes("100.100.1.0/24 10.0.0.5"), nil},
		"no routes":              {nil, nil},
		"a floating address":     {routes("100.100.1.0/24 1.2.3.4"), nil},
		"a server in ERROR":      {routes("100.100.1.0/24 10.0.0.9"), nil},
		"supernets":              {routes("100.100.0.0/15 10.0.0.6", "0.0.0.0/0 10.0.0.6"), nil},
		"the whole range":        {routes("100.100.0.0/16 10.0.0.6"), routes("100.100.0.0/16 10.0.0.6")},
		"the stale one of two":   {routes("100.100.1.0/24 10.0.0.6", "100.100.1.0/24 10.0.0.5"), routes("100.100.1.0/24 10.0.0.6")},
		"IPv6 and what is no IP": {routes("2001:db8::/64 10.0.0.6", "100.100.1.0/24 here", "nonsense 10.0.0.6"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			s.oracle()
			s.SetRoutes(s.target.RouterID, c.have...)
			s.mustRun(0)
			if left := s.Routes(s.target.RouterID); !slices.Equal(left, c.have) {
				t.Fatalf("removed at first sight, left %v", left)
			}
			s.mustRun(30 * time.Second)
			s.mustRun(5 * time.Minute)
			want := slices.DeleteFunc(slices.Clone(c.have), func(r fake.Route) bool { return slices.Contains(c.deleted, r) })
			if left := s.Routes(s.target.RouterID); !slices.Equal(left, want) {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestRequestsPerReconcile(t *testing.T) {
	s := newSite(t, fake.Options{})
	s.oracle()
	router := "GET /network/v2.0/routers/" + s.target.RouterID
	servers := "GET /compute/v2.1/servers/detail"
	throttled := func() []string {
		var texts []string
		for _, r := range s.Requests() {
			texts = append(texts, r.Method+" "+r.Path)
		}
		return texts
	}
	s.mustRun(0) // finds the services
	s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5")...)
	s.mustRun(0)
	throttled()
	if s.mustRun(0); !slices.Equal(throttled(), []string{router, servers}) {
		t.Error("routes in use cost more than the router and the servers")
	}
	s.SetRoutes(s.target.RouterID, routes("192.168.0.0/24 10.0.0.77", "100.101.0.0/24 10.0.0.6")...)
	if s.mustRun(0); !slices.Equal(throttled(), []string{router}) {
		t.Error("without a route owned by Groundskeeper, a reconciliation is more than one read of the router")
	}
}

// orphaned returns a site with four routes of the cluster, one of them an orphan, 100.100.2.0/24 via .6.
func orphaned(t *testing.T, o fake.Options) *site {
	s := newSite(t, o)
	s.oracle()
	s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "100.100.3.0/24 10.0.0.5", "100.100.9.0/24 10.0.0.9")...)
	return s
}

func (s *site) wantLeft(n int) {
	s.t.Helper()
	if left := s.Routes(s.target.RouterID); len(left) != n {
		s.t.Errorf("left %v, want %d", left, n)
	}
}

func TestRemoval(t *testing.T) {
	for name, o := range map[string]fake.Options{"atomic": {}, "by revision": {NoAtomicRoutes: true}} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, o)
			first := s.mustRun(0)
			if len(first.Waiting) != 1 || first.Again != 30*time.Second || Condition(first, nil).Reason != ReasonConfirming {
				t.Errorf("first %+v", first)
			}
			if second := s.mustRun(30 * time.Second); len(second.Removed) != 1 || second.Removed[0] != first.Waiting[0].Route || Condition(second, nil).Status != metav1.ConditionTrue {
				t.Errorf("second %+v", second)
			}
			s.wantLeft(3)
		})
	}
}

func TestDryRun(t *testing.T) {
	s := orphaned(t, fake.Options{})
	s.target.DryRun = true
	s.mustRun(0)
	r := s.mustRun(time.Minute)
	if c := Condition(r, nil); len(r.Spared) != 1 || len(r.Removed) != 0 || c.Reason != ReasonDryRun || !strings.Contains(c.Message, "100.100.2.0/24 via 10.0.0.6") {
		t.Errorf("got %+v, %+v", r, c)
	}
	s.wantLeft(4)
}
