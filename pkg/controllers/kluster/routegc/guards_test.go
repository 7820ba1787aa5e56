// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestNeverRemoved(t *testing.T) {
	for name, protect := range map[string]func(s *site){
		"a leftover port of another client": func(s *site) { s.AddPort("garden", s.network, "Octavia", "lb", "10.0.0.6") },
		"a port without an owner":           func(s *site) { s.AddPort("garden", s.network, "", "", "10.0.0.6") },
		"a server that Nova does not list": func(s *site) {
			s.HideServer(s.AddServer("garden", s.network, "10.0.0.6", "ACTIVE"))
		},
		"a server whose address Nova does not know": func(s *site) {
			active := s.AddServer("garden", s.network, "10.0.0.5", "ACTIVE")
			s.AddPort("garden", s.network, "compute:nova", active, "10.0.0.6")
		},
		"a sibling's": func(s *site) { s.target.Scope.Siblings = []netip.Prefix{netip.MustParsePrefix("100.100.2.0/23")} },
		"a floating address of a port": func(s *site) {
			s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 9.9.9.9", "100.100.3.0/24 10.0.0.5", "100.100.9.0/24 10.0.0.9")...)
			id := s.AddServer("garden", s.network, "10.0.0.8", "ACTIVE")
			s.AddFloatingIP("garden", "9.9.9.9", id)
			s.HideServer(id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, fake.Options{})
			protect(s)
			for range 3 {
				if r := s.mustRun(time.Hour); len(r.Waiting)+len(r.Removed) != 0 || Condition(r, nil).Reason != ReasonClean {
					t.Errorf("got %+v", r)
				}
			}
			s.wantLeft(4)
		})
	}
}

func TestLeftoverPortOfADeletedServer(t *testing.T) {
	s := orphaned(t, fake.Options{})
	id := s.AddServer("garden", s.network, "10.0.0.6", "ACTIVE")
	s.mustRun(time.Hour)
	s.RemoveServer(id, true)
	s.mustRun(time.Hour)
	s.mustRun(time.Hour)
	s.wantLeft(3)
}

// TestPartialResponses removes nothing while a response is missing, and needs no further check.
func TestPartialResponses(t *testing.T) {
	const servers, ports, floating = "/compute/v2.1/servers", "/network/v2.0/ports", "/network/v2.0/floatingips"
	for name, c := range map[string]struct {
		fault fake.Fault
		want  openstack.Reason
	}{
		"the router":             {fake.Fault{Path: "/network/v2.0/routers", Status: 500}, openstack.ReasonUnreachable},
		"the servers":            {fake.Fault{Path: servers, Status: 403}, openstack.ReasonForbidden},
		"a page of the servers":  {fake.Fault{Path: servers, Skip: 1, Status: 500}, openstack.ReasonUnreachable},
		"no list of servers":     {fake.Fault{Path: servers, Status: 200, Body: "{}"}, openstack.ReasonIncomplete},
		"the router's ports":     {fake.Fault{Path: ports, Status: 403}, openstack.ReasonForbidden},
		"no ports of the router": {fake.Fault{Path: ports, Status: 200, Body: `{"ports": []}`}, openstack.ReasonIncomplete},
		"the ports":              {fake.Fault{Path: ports, Skip: 1, Status: 403}, openstack.ReasonForbidden},
		"the floating IPs":       {fake.Fault{Path: floating, Status: 403}, openstack.ReasonForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := orphaned(t, fake.Options{PageSize: 2})
			s.mustRun(0)
			s.Inject(c.fault)
			r, err := s.run(time.Hour)
			if got := Condition(r, err); openstack.ReasonOf(err) != c.want || got.Status != metav1.ConditionUnknown || got.Reason != string(c.want) {
				t.Errorf("got %v, %+v", err, got)
			}
			s.wantLeft(4)
			s.Heal()
			s.mustRun(time.Hour)
			s.wantLeft(3)
		})
	}
	t.Run("a single server", func(t *testing.T) {
		s := orphaned(t, fake.Options{})
		id := s.AddServer("garden", s.network, "10.0.0.6", "ACTIVE")
		s.RemoveServer(id, true)
		s.mustRun(0)
		s.Inject(fake.Fault{Path: servers + "/" + id, Status: 403})
		if _, err := s.run(time.Hour); openstack.ReasonOf(err) != openstack.ReasonForbidden {
			t.Errorf("got %v", err)
		}
		s.wantLeft(4)
	})
	t.Run("a cell that is down", func(t *testing.T) {
		s := newSite(t, fake.Options{})
		_, failed := s.oracle()
		s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6")...)
		s.mustRun(0)
		s.CellDown(true, failed)
		if _, err := s.run(time.Hour); openstack.ReasonOf(err) != openstack.ReasonIncomplete {
			t.Errorf("got %v", err)
		}
		s.wantLeft(2)
	})
}

func TestSuspicions(t *testing.T) {
	t.Run("no server at all", func(t *testing.T) {
		s := newSite(t, fake.Options{})
		s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5")...)
		for _, after := range []time.Duration{0, 30 * time.Second, 4 * time.Minute} {
			c := Condition(s.mustRun(after), nil)
			if c.Status != metav1.ConditionFalse || c.Reason != string(NoServers) || !strings.Contains(c.Message, "no server at all") {
				t.Errorf("got %+v", c)
			}
			s.wantLeft(1)
		}
		s.mustRun(time.Minute)
		s.wantLeft(0)
	})
	t.Run("too many orphans", func(t *testing.T) {
		s := newSite(t, fake.Options{})
		s.oracle()
		s.SetRoutes(s.target.RouterID, routes("100.100.1.0/24 10.0.0.5", "100.100.2.0/24 10.0.0.6", "100.100.3.0/24 10.0.0.7")...)
		for _, after := range []time.Duration{0, 30 * time.Second} {
			c := Condition(s.mustRun(after), nil)
			if c.Reason != string(TooManyOrphans) || !strings.Contains(c.Message, "2 of 3 routes") {
				t.Errorf("got %+v", c)
			}
			s.wantLeft(3)
		}
		s.mustRun(5 * time.Minute)
		s.wantLeft(1)
	})
}

func TestRestartStartsOver(t *testing.T) {
	s := orphaned(t, fake.Options{})
	s.mustRun(0)
	s.history = History{}
	s.mustRun(time.Hour)
	s.wantLeft(4)
}

func TestRecreatedRouteStartsOver(t *testing.T) {
	s := orphaned(t, fake.Options{})
	have := s.Routes(s.target.RouterID)
	s.mustRun(0)
	s.mustRun(time.Minute)
	s.wantLeft(3)
	s.SetRoutes(s.target.RouterID, have...)
	s.mustRun(time.Minute)
	s.wantLeft(4)
}

func TestInvalidRouteOfAnotherOwner(t *testing.T) {
	s := orphaned(t, fake.Options{})
	s.mustRun(0)
	have := s.Routes(s.target.RouterID)
	s.SetRoutes(s.target.RouterID, append(have, routes("192.168.0.0/24 172.16.0.1")...)...)
	r, err := s.run(time.Minute)
	c := Condition(r, err)
	if openstack.ReasonOf(err) != openstack.ReasonRefused || !strings.Contains(err.Error(), "192.168.0.0/24 via 172.16.0.1") || c.Status != metav1.ConditionFalse {
		t.Errorf("got %v, %+v", err, c)
	}
	s.SetRoutes(s.target.RouterID, have...)
	s.mustRun(time.Minute)
	s.wantLeft(3)
}
