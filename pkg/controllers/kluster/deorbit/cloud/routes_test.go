// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

const (
	live, dead       = "100.100.1.0/24 via 10.0.0.5", "100.100.2.0/24 via 10.0.0.6"
	sibling, unowned = "100.100.128.0/24 via 10.0.0.6", "192.168.0.0/24 via 10.0.0.77"
	wider            = "100.100.0.0/15 via 10.0.0.6"
)

// routed returns a router with routes of the cluster, one to a living server and one to none, and others.
func (s *site) routed(project string) *routegc.Target {
	target := &routegc.Target{RouterID: s.AddRouter(project, s.network), Scope: routegc.Scope{
		ClusterCIDR: netip.MustParsePrefix("100.100.0.0/16"), Siblings: []netip.Prefix{netip.MustParsePrefix("100.100.128.0/17")}}}
	s.AddServer("garden", s.network, "10.0.0.5", "ACTIVE")
	s.setRoutes(target.RouterID, live, dead, sibling, unowned, wider)
	s.Requests()
	return target
}

func (s *site) setRoutes(router string, texts ...string) {
	var routes []fake.Route
	for _, text := range texts {
		destination, hop, _ := strings.Cut(text, " via ")
		routes = append(routes, fake.Route{Destination: destination, NextHop: hop})
	}
	s.SetRoutes(router, routes...)
}

func (s *site) wantRoutes(target *routegc.Target, want ...string) {
	s.t.Helper()
	var left []string
	for _, r := range s.Routes(target.RouterID) {
		left = append(left, r.Destination+" via "+r.NextHop)
	}
	if !slices.Equal(left, want) {
		s.t.Errorf("left %q, want %q", left, want)
	}
}

// A list of routes with their one reason.
func reported(objects []kubernikusv1.DeorbitObject) string {
	var names []string
	reason := ""
	for _, o := range objects {
		names, reason = append(names, o.Name), o.Reason
	}
	return strings.Join(names, ", ") + ": " + reason
}

// TestRoutes checks that all routes of the cluster are deleted, whatever their next hop, and no others, on every kind of Neutron.
func TestRoutes(t *testing.T) {
	for name, o := range map[string]fake.Options{"atomic": {}, "by revision": {NoAtomicRoutes: true}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, o)
			target := s.routed("garden")
			report, err := s.project.Routes(t.Context(), work(), target, "")
			if err != nil || reported(report.Deleted) != live+", "+dead+": " || len(report.Remaining)+len(report.Retained) != 0 {
				t.Errorf("got %+v, %v", report, err)
			}
			s.wantRoutes(target, sibling, unowned, wider)
			s.Requests()
			if report, err := s.project.Routes(t.Context(), work(), target, ""); err != nil || len(report.Deleted) != 0 || len(s.Requests()) != 1 {
				t.Errorf("again: %+v, %v", report, err)
			}
		})
	}
}

// TestRoutesStay checks that each reason against a removal retains all routes, and is reported for each of them.
func TestRoutesStay(t *testing.T) {
	const all = live + ", " + dead + ": "
	for name, c := range map[string]struct {
		project               string
		why                   string
		change                func(*site, *routegc.Target)
		remain, retain, leave string
		fails                 bool
	}{
		"off":              {why: "Disabled: Route GC is off", retain: all + "Disabled: Route GC is off"},
		"dry run":          {change: func(_ *site, target *routegc.Target) { target.DryRun = true }, retain: all + "routeGC.dryRun is set"},
		"CIDR conflict":    {why: "CIDRConflict: Kluster a/b", remain: all + "CIDRConflict: Kluster a/b"},
		"conflict of name": {why: "IdentityConflict: Kluster a/b", remain: all + "IdentityConflict: Kluster a/b"},
		"another project":  {project: "other", leave: all + "the router is of another project: other"},
		"fence":            {change: func(s *site, _ *routegc.Target) { s.closed = errClosed }, remain: all + "Route ROUTER is not deleted: the Lease is lost", fails: true},
		"gone":             {change: func(_ *site, target *routegc.Target) { target.RouterID = "gone" }},
		"unreadable":       {change: func(s *site, _ *routegc.Target) { s.Inject(fake.Fault{Path: "/network/v2.0/routers", Status: 503}) }, fails: true},
		"empty response": {change: func(s *site, _ *routegc.Target) {
			s.Inject(fake.Fault{Path: "/network/v2.0/routers", Status: 200, Body: `{"router": {}}`})
		}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			if c.project == "" {
				c.project = "garden"
			} else {
				s.AddAdmin("gardener", secretWord, "garden")
				s.RevokeTokens()
			}
			target := s.routed(c.project)
			before := target.RouterID
			if c.change != nil {
				c.change(s, target)
			}
			report, err := s.project.Routes(t.Context(), work(), target, c.why)
			remain, retain, leave := strings.ReplaceAll(reported(report.Remaining), before, "ROUTER"), reported(report.Retained), reported(report.Undecided)
			if (err != nil) != c.fails || remain != or(c.remain) || retain != or(c.retain) || leave != or(c.leave) || len(report.Deleted) != 0 {
				t.Errorf("remain %q, retain %q, leave %q, %v", remain, retain, leave, err)
			}
			if listed := slices.Contains(report.Listed, KindRoute); listed != (name != "unreadable" && name != "empty response") {
				t.Errorf("the routes are listed: %t", listed)
			}
			if changes := s.changes(); len(changes) != 0 {
				t.Errorf("changed %v", changes)
			}
			s.wantRoutes(&routegc.Target{RouterID: before}, live, dead, sibling, unowned, wider)
		})
	}
}

func or(text string) string {
	if text == "" {
		return ": "
	}
	return text
}

// TestRoutesRejected checks that a removal that Neutron rejects is reported with its message and with the conflicting route of
// another client.
func TestRoutesRejected(t *testing.T) {
	s := newSite(t, fake.Options{})
	target := s.routed("garden")
	const invalid = "172.16.0.0/24 via 172.31.0.1"
	s.setRoutes(target.RouterID, live, invalid)
	report, err := s.project.Routes(t.Context(), work(), target, "")
	if err != nil || len(report.Remaining) != 1 || !strings.Contains(report.Remaining[0].Reason, "to be removed manually: "+invalid) {
		t.Errorf("got %+v, %v", report, err)
	}
	s.wantRoutes(target, live, invalid)
	s.setRoutes(target.RouterID, live)
	s.Inject(fake.Fault{Method: http.MethodPut, Status: 503})
	report, err = s.project.Routes(t.Context(), work(), target, "")
	if openstack.ReasonOf(err) != openstack.ReasonUnreachable || len(report.Remaining) != 1 || len(report.Deleted) != 0 {
		t.Errorf("unreachable: %+v, %v", report, err)
	}
	s.wantRoutes(target, live)
	old := newSite(t, fake.Options{NoAtomicRoutes: true, NoRevisions: true})
	target = old.routed("garden")
	report, err = old.project.Routes(t.Context(), work(), target, "")
	if err != nil || len(report.Remaining) != 2 || !strings.Contains(report.Remaining[0].Reason, "extraroute-atomic") {
		t.Errorf("an old Neutron: %+v, %v", report, err)
	}
	old.wantRoutes(target, live, dead, sibling, unowned, wider)
}

// TestUnknownRouter checks that routes that were not checked because the router is unknown are left over, unless there cannot be
// any.
func TestUnknownRouter(t *testing.T) {
	s := newSite(t, fake.Options{})
	probe := func(target *routegc.Target, why string) (stage.Report, error) {
		return s.project.Routes(t.Context(), work(), target, why)
	}
	if report, err := probe(&routegc.Target{}, "RouterUnknown: x"); err != nil || len(report.Retained) != 0 {
		t.Errorf("a project without routers: %+v, %v", report, err)
	}
	s.AddRouter("garden", s.network)
	if report, err := probe(&routegc.Target{}, "RouterUnknown: x"); err != nil || reported(report.Remaining) != ": RouterUnknown: x" || len(report.Retained) != 0 {
		t.Errorf("a project with a router: %+v, %v", report, err)
	}
	if report, err := probe(&routegc.Target{}, "Disabled: x"); err != nil || reported(report.Retained) != ": Disabled: x" || len(report.Remaining) != 0 {
		t.Errorf("Route GC is off: %+v, %v", report, err)
	}
	s.Inject(fake.Fault{Path: "/network", Status: 503})
	if report, err := probe(&routegc.Target{}, "RouterUnknown: x"); err == nil {
		t.Errorf("a project that cannot be seen: %+v", report)
	}
	if report, err := probe(nil, ""); err != nil || len(report.Remaining)+len(report.Retained) != 0 {
		t.Errorf("without a cloud: %+v, %v", report, err)
	}
	if report, err := probe(nil, "ClusterRefused: x"); err != nil || len(report.Remaining) != 1 {
		t.Errorf("a cluster that rejects Groundskeeper: %+v, %v", report, err)
	}
	if report, err := probe(nil, "CIDRConflict: x"); err != nil || len(report.Remaining) != 1 {
		t.Errorf("a conflict without a target: %+v, %v", report, err)
	}
	if report, err := (Project{}).Routes(t.Context(), work(), &routegc.Target{RouterID: "r"}, ""); err == nil {
		t.Errorf("a project without an id: %+v", report)
	}
}

// TestRoutesThatCameBack checks that routes that were recreated are left to the remaining nodes.
func TestRoutesThatCameBack(t *testing.T) {
	s := newSite(t, fake.Options{})
	target := s.routed("garden")
	w := work()
	w.RoutesLeft = true
	report, err := s.project.Routes(t.Context(), w, target, "")
	if err != nil || reported(report.Deleted) != dead+": " || reported(report.Remaining) != live+": "+ReasonCameBack {
		t.Errorf("got %+v, %v", report, err)
	}
	s.wantRoutes(target, live, sibling, unowned, wider)
	s.Inject(fake.Fault{Method: http.MethodGet, Path: "/network/v2.0/ports", Status: 503})
	s.setRoutes(target.RouterID, dead)
	if report, err := s.project.Routes(t.Context(), w, target, ""); err == nil {
		t.Errorf("without the ports: %+v", report)
	}
	s.wantRoutes(target, dead)
}

// TestRoutesOfASharedRange checks that, if a sibling with the same range has Route GC disabled, a route to a node may belong to the
// sibling.
func TestRoutesOfASharedRange(t *testing.T) {
	s := newSite(t, fake.Options{})
	target := s.routed("garden")
	target.Shared = "ns/s"
	report, err := s.project.Routes(t.Context(), work(), target, "")
	if err != nil || reported(report.Deleted) != dead+": " || len(report.Remaining) != 1 || !strings.HasPrefix(report.Remaining[0].Reason, "it may be of Kluster ns/s") {
		t.Errorf("got %+v, %v", report, err)
	}
	s.wantRoutes(target, live, sibling, unowned, wider)
}

// TestRoutesOnANetworkOfAnotherProject checks that a next hop counts as a port on a network of another project, whose ports cannot be seen.
func TestRoutesOnANetworkOfAnotherProject(t *testing.T) {
	s := newSite(t, fake.Options{})
	target := s.routed("garden")
	target.Shared = "ns/s"
	s.ShareNetwork(s.network, "platform")
	report, err := s.project.Routes(t.Context(), work(), target, "")
	if err != nil || len(report.Deleted) != 0 || len(report.Remaining) != 2 {
		t.Errorf("got %+v, %v, want both routes to remain", report, err)
	}
	s.wantRoutes(target, live, dead, sibling, unowned, wider)
}
