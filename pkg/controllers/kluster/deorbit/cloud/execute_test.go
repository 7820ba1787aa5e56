// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// TestVerify checks that everything that a cluster left is deleted, check by check, and nothing of its neighbor.
func TestVerify(t *testing.T) {
	s := newSite(t, fake.Options{PageSize: 1})
	mine, other := s.grow("prod", "prod-id"), s.grow("prod-2", "prod-2-id")
	first := s.verify(work(unseen))
	if got := reasonFor(first.Remaining, mine.balancer); got != "being deleted" {
		t.Errorf("the load balancer: %q", got)
	}
	if got := reasonFor(first.Remaining, mine.group); got != "waits for the load balancers" {
		t.Errorf("the security group: %q", got)
	}
	if got := reasonFor(first.Remaining, mine.volume); got != "waits for snapshot "+mine.snapshot {
		t.Errorf("the volume: %q", got)
	}
	if len(first.Deleted) != 3 || len(first.Remaining) != 4 || len(first.Retained) != 0 || reasonFor(first.Remaining, mine.address) != "" {
		t.Errorf("the first check: %+v", first)
	}
	second := s.verify(work(unseen))
	if got := reasonFor(second.Remaining, mine.balancer); got != "status PENDING_DELETE" || len(second.Deleted) != 0 {
		t.Errorf("while it is being deleted: %q, %+v", got, second.Deleted)
	}
	if probes := s.until(work(unseen)); probes != 3 { // it is being deleted, the group and the volume are, too, the volume has been deleted
		t.Errorf("%d looks", probes)
	}
	if got := s.left(); !slices.Equal(got, other.ids()) {
		t.Errorf("left %v, want %v", got, other.ids())
	}
	s.Requests()
	if report := s.verify(work(unseen)); len(report.Remaining)+len(report.Retained)+len(report.Deleted) != 0 || len(s.changes()) != 0 {
		t.Errorf("a check of a clean project: %+v", report)
	}
}

// TestOneListFails checks that nothing is deleted after an incomplete list.
func TestOneListFails(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"load balancers":            {Path: "/load-balancer/v2.0/lbaas/loadbalancers", Status: 503},
		"listeners":                 {Path: "/load-balancer/v2.0/lbaas/listeners", Status: 500},
		"pools":                     {Path: "/load-balancer/v2.0/lbaas/pools", Status: 502},
		"floating IPs":              {Path: "/network/v2.0/floatingips", Status: 404},
		"security groups":           {Path: "/network/v2.0/security-groups", Status: 429},
		"ports":                     {Path: "/network/v2.0/ports", Status: 502},
		"volumes":                   {Path: "/volume/v3/volumes", Cut: fake.CutResponse},
		"snapshots":                 {Path: "/volume/v3/snapshots", Status: 500},
		"a page of volumes":         {Path: "/volume/v3/volumes", Skip: 1, Status: 503},
		"a page of load balancers":  {Path: "/load-balancer/v2.0/lbaas/loadbalancers", Skip: 1, Status: 503},
		"a response without a list": {Path: "/volume/v3/snapshots", Status: 200, Body: "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{PageSize: 1})
			s.grow("prod", "prod-id")
			s.grow("prod-2", "prod-2-id")
			fault.Method = http.MethodGet
			s.Inject(fault)
			report, err := s.probe(t.Context())
			if changes := s.changes(); err == nil || len(changes) != 0 || len(report.Deleted)+len(report.Remaining)+len(report.Retained) != 0 {
				t.Errorf("got %+v, %v, %v", report, err, changes)
			}
			s.Heal()
			if report, err := s.probe(t.Context()); err != nil || len(report.Deleted) == 0 {
				t.Errorf("afterwards: %+v, %v", report, err)
			}
		})
	}
}

// TestServiceMissing checks that a service that is missing from the catalog is unknown, unless a user states that it has nothing.
// The others are checked.
func TestServiceMissing(t *testing.T) {
	s := newSite(t, fake.Options{Without: []string{"load-balancer", "block-storage", "volumev3"}})
	mine := madeBy("prod", "shop", "web", "u")
	s.AddFloatingIPFor("garden", fake.FloatingIP{Address: "1.2.3.4", Description: mine.address})
	group := s.AddSecurityGroup("garden", fake.SecurityGroup{Name: mine.group, Description: mine.groupDescription})
	absent := func(w *stage.Work) {
		w.Kluster.Spec.Openstack.AbsentServices = []kubernikusv1.CloudService{kubernikusv1.ServiceLoadBalancer, kubernikusv1.ServiceBlockStorage}
	}
	report := s.verify(work(unseen))
	var kinds []string
	for _, o := range report.Remaining {
		kinds = append(kinds, o.Kind)
		if o.ID == "" && !strings.Contains(o.Reason, "spec.openstack.absentServices") {
			t.Errorf("reason %q does not report what to do", o.Reason)
		}
	}
	if want := []string{"LoadBalancer", "Volume", "Snapshot", "FloatingIP", "SecurityGroup"}; !slices.Equal(kinds, want) || len(s.changes()) != 0 {
		t.Errorf("remaining %q, want %q", kinds, want)
	}
	report = s.verify(work(absent, unseen, served(), sawVolume("v", "Delete")))
	if len(report.Remaining) < 3 || reasonFor(report.Remaining, group) == "" || len(s.changes()) != 0 {
		t.Errorf("stated to be absent, but seen in the cluster: %+v", report)
	}
	s.until(work(absent, unseen))
	if left := s.FloatingIPs("garden"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if report, err := (Project{}).Verify(t.Context(), work(), Conflicts{}); err == nil {
		t.Errorf("a project without an id: %+v", report)
	}
}

// TestServiceForbidden checks that resources that the user is not allowed to list are left over, and do not block the cleanup of
// other services.
func TestServiceForbidden(t *testing.T) {
	for path, c := range map[string]struct{ kind, deletable string }{
		"/load-balancer/v2.0/lbaas/loadbalancers": {"LoadBalancer", "snapshot"},
		"/load-balancer/v2.0/lbaas/pools":         {"LoadBalancer", "snapshot"},
		"/network/v2.0/floatingips":               {"FloatingIP", "snapshot"},
		"/network/v2.0/security-groups":           {"SecurityGroup", "snapshot"},
		"/volume/v3/volumes":                      {"Volume", "balancer"},
		"/volume/v3/snapshots":                    {"Snapshot", "balancer"},
	} {
		t.Run(path, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			mine := s.grow("prod", "prod-id")
			s.Inject(fake.Fault{Method: http.MethodGet, Path: path, Status: http.StatusForbidden})
			report := s.verify(work(unseen))
			if !slices.ContainsFunc(report.Remaining, func(o kubernikusv1.DeorbitObject) bool {
				return o.Kind == c.kind && o.ID == "" && strings.Contains(o.Reason, "403")
			}) {
				t.Errorf("remaining %+v, want a %s that could not be checked", report.Remaining, c.kind)
			}
			if slices.Contains(report.Listed, c.kind) || len(report.Listed) < 3 {
				t.Errorf("listed %q, want all but %s", report.Listed, c.kind)
			}
			if deletable := map[string]string{"snapshot": mine.snapshot, "balancer": mine.balancer}[c.deletable]; reasonFor(report.Remaining, deletable) != reasonDeleting {
				t.Errorf("the %s does not go: %+v", c.deletable, report.Remaining)
			}
			if reasonFor(report.Deleted, mine.address) != "" && c.kind == "LoadBalancer" {
				t.Error("a floating IP is deleted, and it is unknown what it is for")
			}
			s.Heal()
			s.until(work(unseen))
			if left := s.left(); len(left) != 0 {
				t.Errorf("left %v", left)
			}
			if listed := s.verify(work(unseen)).Listed; len(listed) != 5 {
				t.Errorf("listed %q, want all kinds", listed)
			}
		})
	}
}

// TestPending checks that the check waits for what OpenStack does later or not at all.
func TestPending(t *testing.T) {
	s := newSite(t, fake.Options{})
	mine := s.grow("prod", "prod-id")
	s.Hold(mine.balancer)
	s.FailDeletion(true, mine.balancer, mine.snapshot)
	if got := reasonFor(s.verify(work(unseen)).Remaining, mine.balancer); got != "status PENDING_UPDATE" {
		t.Errorf("held: %q", got)
	}
	s.Release(mine.balancer)
	for range 3 {
		s.Settle()
		s.verify(work(unseen))
	}
	s.Settle()
	s.Requests()
	report := s.verify(work(unseen))
	if got := reasonFor(report.Remaining, mine.snapshot); !strings.HasPrefix(got, "status error_deleting: ") || !strings.Contains(got, "400") {
		t.Errorf("error_deleting: %q", got)
	}
	tried := func(part string) bool {
		return slices.ContainsFunc(report.Deleted, func(o kubernikusv1.DeorbitObject) bool { return o.ID == part })
	}
	if !tried(mine.balancer) || tried(mine.snapshot) || len(s.changes()) != 2 {
		t.Errorf("tried again: %+v", report.Deleted)
	}
	// Even where Cinder takes it, to repeat the request is no progress.
	s.Inject(fake.Fault{Method: http.MethodDelete, Path: "/volume/v3/snapshots", Status: 202})
	if report := s.verify(work(unseen)); reasonFor(report.Remaining, mine.snapshot) != reasonDeleting || reasonFor(report.Deleted, mine.snapshot) != "" || len(report.Deleted) != 0 {
		t.Errorf("taken again: %+v", report)
	}
	s.Heal()
	s.FailDeletion(false, mine.balancer, mine.snapshot)
	s.ChangeSnapshot(mine.snapshot, func(s *fake.Snapshot) { s.Status = "error" })
	s.until(work(unseen))
	if left := s.left(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestInUse checks that servers and ports that still use a resource are named, and that no deletion is tried.
func TestInUse(t *testing.T) {
	s := newSite(t, fake.Options{})
	mine := s.grow("prod", "prod-id")
	s.RemoveSnapshot(mine.snapshot)
	s.ChangeVolume(mine.volume, func(v *fake.Volume) { v.AttachedTo = []string{"server-1"} })
	port := s.AddPort("garden", s.network, "trunk:subport", "trunk-1", "10.0.0.5")
	s.SetSecurityGroups(port, mine.group)
	w := work(unseen, sawService("uid-prod", "shop", "web", false))
	s.verify(w)
	s.Settle()
	s.Requests()
	report := s.verify(w)
	if volume, group := reasonFor(report.Remaining, mine.volume), reasonFor(report.Remaining, mine.group); volume != "attached to server server-1" || !strings.HasPrefix(group, "used by port "+port+", to which the controller ") {
		t.Errorf("volume: %q, group: %q", volume, group)
	}
	if changes := s.changes(); len(changes) != 0 {
		t.Errorf("tried %v", changes)
	}
}

// TestReleasesPorts checks that the security group of a dead cloud controller manager is removed from the ports that it added it
// to, and from no others. Early versions tagged these ports.
func TestReleasesPorts(t *testing.T) {
	s := newSite(t, fake.Options{})
	mine, theirs := s.grow("prod", "prod-id"), s.AddSecurityGroup("garden", fake.SecurityGroup{Name: "theirs"})
	tagged := s.AddPort("garden", s.network, "compute:nova", "server-1", "10.0.0.5")
	s.SetSecurityGroups(tagged, theirs)
	s.JoinSecurityGroup(tagged, mine.group)
	node := s.AddPort("garden", s.network, "compute:nova", "server-3", "10.0.0.7")
	s.SetSecurityGroups(node, theirs, mine.group)
	bystander := s.AddPort("garden", s.network, "compute:nova", "server-2", "10.0.0.6")
	s.SetSecurityGroups(bystander, theirs)
	w := work(unseen, sawService("uid-prod", "shop", "web", false))
	s.until(w)
	if left := s.left(); !slices.Equal(left, []string{theirs}) {
		t.Errorf("left = %v, want the group of others alone", left)
	}
	for _, port := range []string{tagged, node, bystander} {
		if groups, tags := s.PortMarks(port); !slices.Equal(groups, []string{theirs}) || len(tags) != 0 {
			t.Errorf("port %s: groups = %v, tags = %v, want the groups of others alone", port, groups, tags)
		}
	}
}

// TestReleasesNoPortThatChanges checks that a port that another client changes concurrently loses nothing, and that one that no
// longer belongs to a server is left alone.
func TestReleasesNoPortThatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *site, port, group string)
		want   string
	}{
		"another group is added": {func(s *site, port, group string) { s.JoinSecurityGroup(port, group) }, ""},
		"it leaves its server":   {func(s *site, port, _ string) { s.SetPortOwner(port, "") }, "the port changed in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			mine, other := s.grow("prod", "prod-id"), s.AddSecurityGroup("garden", fake.SecurityGroup{Name: "new"})
			s.RemoveLoadBalancer(mine.balancer)
			node := s.AddPort("garden", s.network, "compute:nova", "server-1", "10.0.0.5")
			s.JoinSecurityGroup(node, mine.group)
			s.Inject(fake.Fault{Method: http.MethodPut, Path: "/network/v2.0/ports", Times: 1, Do: func() { c.change(s, node, other) }})
			report := s.verify(work(unseen, sawService("uid-prod", "shop", "web", false)))
			if got := reasonFor(report.Remaining, mine.group); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("reason = %q, want %q", got, c.want)
			}
			if groups, _ := s.PortMarks(node); c.want == "" && !slices.Equal(groups, []string{other}) {
				t.Errorf("groups = %v, want the new one alone", groups)
			}
		})
	}
}

// TestReleasesNoPortWithoutRevisions checks that, without revision numbers, the group is left over with a remedy, because a
// concurrent change could be lost.
func TestReleasesNoPortWithoutRevisions(t *testing.T) {
	s := newSite(t, fake.Options{NoRevisions: true})
	mine := s.grow("prod", "prod-id")
	s.RemoveLoadBalancer(mine.balancer)
	node := s.AddPort("garden", s.network, "compute:nova", "server-1", "10.0.0.5")
	s.JoinSecurityGroup(node, mine.group)
	report := s.verify(work(unseen, sawService("uid-prod", "shop", "web", false)))
	if got := reasonFor(report.Remaining, mine.group); !strings.Contains(got, "standard-attr-revisions") {
		t.Errorf("reason = %q, want the missing extension", got)
	}
}

// TestRejections checks that a rejection of one object does not block others, and that an error that applies to all of them ends
// the check.
func TestRejections(t *testing.T) {
	for name, c := range map[string]struct {
		fault   fake.Fault
		ends    bool
		reason  openstack.Reason
		deleted int
	}{
		"forbidden":     {fake.Fault{Path: "/load-balancer", Status: 403}, false, "", 2},
		"conflict":      {fake.Fault{Path: "/load-balancer", Status: 409, Body: `{"faultstring": "immutable"}`}, false, "", 2},
		"broken":        {fake.Fault{Path: "/load-balancer", Status: 500}, false, "", 2},
		"gone":          {fake.Fault{Path: "/load-balancer", Status: 404}, false, "", 3},
		"rate limited":  {fake.Fault{Path: "/load-balancer", Status: 429}, true, openstack.ReasonRateLimited, 0},
		"unreachable":   {fake.Fault{Path: "/load-balancer", Cut: fake.CutRequest}, true, openstack.ReasonUnreachable, 0},
		"response lost": {fake.Fault{Path: "/load-balancer", Cut: fake.CutResponse}, true, openstack.ReasonUnreachable, 0},
		"later one":     {fake.Fault{Path: "/volume", Cut: fake.CutRequest}, true, openstack.ReasonUnreachable, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			mine := s.grow("prod", "prod-id")
			c.fault.Method = http.MethodDelete
			s.Inject(c.fault)
			report, err := s.probe(t.Context())
			if (err != nil) != c.ends || err != nil && openstack.ReasonOf(err) != c.reason || len(report.Deleted) != c.deleted {
				t.Errorf("got %v, deleted %v", err, report.Deleted)
			}
			for _, id := range mine.ids() {
				deleted := slices.ContainsFunc(report.Deleted, func(o kubernikusv1.DeorbitObject) bool { return o.ID == id })
				if !deleted && reasonFor(report.Remaining, id) == "" {
					t.Errorf("%s is not notified of: %+v", id, report)
				}
			}
			s.Heal()
			s.until(work(unseen))
			if left := s.left(); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestRevoked checks that revoked credentials end the check, and leave the remaining resources.
func TestRevoked(t *testing.T) {
	s := newSite(t, fake.Options{})
	mine := s.grow("prod", "prod-id")
	s.Inject(fake.Fault{Method: http.MethodDelete, Path: "/network/v2.0/floatingips", Do: func() {
		s.AddUser("gardener", "hunter3-hunter3", "garden")
		s.RevokeTokens()
	}})
	report, err := s.probe(t.Context())
	if openstack.ReasonOf(err) != openstack.ReasonCredentialsRefused || len(report.Deleted) != 1 || report.Deleted[0].ID != mine.balancer {
		t.Errorf("got %v, deleted %+v", err, report.Deleted)
	}
	if got := reasonFor(report.Remaining, mine.snapshot); got != "to be deleted in the next check" {
		t.Errorf("the snapshot: %q", got)
	}
	if strings.Contains(fmt.Sprint(err, report), "hunter") {
		t.Errorf("a password is notified: %v", err)
	}
}

// The fence is checked before each change, and nothing is changed behind a closed one.
func TestFence(t *testing.T) {
	for open := range 3 {
		s := newSite(t, fake.Options{})
		s.grow("prod", "prod-id")
		s.closed, s.open = errClosed, open
		report, err := s.probe(t.Context())
		if changes := s.changes(); err == nil || len(changes) != open || len(report.Deleted) != open || len(report.Remaining) < 3-open {
			t.Errorf("open for %d: %v, changed %v, %+v", open, err, changes, report)
		}
	}
	s := newSite(t, fake.Options{})
	s.grow("prod", "prod-id")
	ctx, cancel := context.WithCancel(t.Context())
	s.Inject(fake.Fault{Method: http.MethodGet, Path: "/volume/v3/snapshots", Do: cancel})
	if report, err := s.probe(ctx); err == nil || len(s.changes()) != 0 {
		t.Errorf("canceled: %+v, %v", report, err)
	}
}

// TestShared checks that each of two clusters removes only its own part of a shared load balancer, in either order.
func TestShared(t *testing.T) {
	for name, order := range map[string][]string{"guest first": {"prod", "dev"}, "owner first": {"dev", "prod"}} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			dev := s.grow("dev", "dev-id")
			guest := madeBy("prod", "shop", "extra", "u").service
			s.ChangeLoadBalancer(dev.balancer, func(b *fake.LoadBalancer) { b.Tags = append(b.Tags, guest, "cost=42") })
			s.AddPool(dev.balancer, fake.Pool{Name: "pool_0_" + guest, Protocol: "TCP"},
				s.AddListener(dev.balancer, fake.Listener{Name: "listener_0_" + guest, Protocol: "TCP", Port: 81, Tags: []string{guest}}))
			s.until(work(named(order[0], order[0]+"-id"), unseen))
			left := s.LoadBalancers("garden")
			if len(left) != 1 || len(left[0].Tags) != 2 || !strings.Contains(left[0].Tags[0], "kube_service_"+order[1]+"_") {
				t.Fatalf("left %+v", left)
			}
			listeners, pools := s.children(t)
			if len(listeners) != 1 || len(pools) != 1 || !strings.Contains(listeners[0]+pools[0], order[1]) {
				t.Errorf("left listeners %v and pools %v", listeners, pools)
			}
			report := s.verify(work(named(order[0], order[0]+"-id"), unseen))
			if owner := order[0] == "dev"; owner != (reasonFor(report.Undecided, dev.balancer) == "other clusters use it") {
				t.Errorf("undecided %+v", report.Undecided)
			}
			s.until(work(named(order[1], order[1]+"-id"), unseen))
			// The owner deletes it with the guest absent; a guest leaves the owner's behind.
			if left := s.LoadBalancers("garden"); (len(left) == 0) != (order[1] == "dev") {
				t.Errorf("in the end: %+v", left)
			}
		})
	}
}

// children returns the names of all listeners and pools of the project.
func (s *site) children(t *testing.T) (listeners, pools []string) {
	t.Helper()
	all, err := s.project.list(t.Context(), work(), groupsOf(work()))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all.listeners {
		listeners = append(listeners, l.Name)
	}
	for _, p := range all.pools {
		pools = append(pools, p.Name)
	}
	return listeners, pools
}

// TestManyVolumes checks that a check with too much work leaves the rest to the next one.
func TestManyVolumes(t *testing.T) {
	s := newSite(t, fake.Options{})
	for range changesPerProbe + 5 {
		s.AddVolume("garden", fake.Volume{Metadata: map[string]string{clusterKey: "prod-id"}})
	}
	if report := s.verify(work(unseen)); len(report.Deleted) != changesPerProbe || len(report.Remaining) != changesPerProbe+5 {
		t.Errorf("deleted %d, %d remain", len(report.Deleted), len(report.Remaining))
	}
	s.Settle()
	if report := s.verify(work(unseen)); len(report.Deleted) != 5 {
		t.Errorf("then deleted %d", len(report.Deleted))
	}
}
