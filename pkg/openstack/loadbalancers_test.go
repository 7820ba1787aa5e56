// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// balanced returns a fake with a load balancer of two listeners, and one of another project.
func balanced(t *testing.T, o fake.Options) (s *fake.Server, id, listenerID, poolID string) {
	s = newFake(t, o)
	id = s.AddLoadBalancer("garden", fake.LoadBalancer{Name: "kube_service_k_ns_web", Description: "of k", VIP: "10.0.0.9", Tags: []string{"a", "b"}})
	listenerID = s.AddListener(id, fake.Listener{Name: "l", Protocol: "TCP", Port: 80, Tags: []string{"t"}})
	s.AddListener(id, fake.Listener{Protocol: "UDP", Port: 53, AdminDown: true, ProvisioningStatus: "ERROR"})
	poolID = s.AddPool(id, fake.Pool{Name: "p", Protocol: "TCP", Tags: []string{"u"}}, listenerID)
	s.AddMember(poolID, fake.Member{Name: "m", Address: "10.0.0.5", Port: 30080, Weight: 7})
	s.AddMember(poolID, fake.Member{Address: "fd00::5", Port: 30081, AdminDown: true, Backup: true, OperatingStatus: "ERROR"})
	other := s.AddLoadBalancer("other", fake.LoadBalancer{VIP: "10.0.0.10"})
	s.AddPool(other, fake.Pool{Protocol: "TCP"}, s.AddListener(other, fake.Listener{Protocol: "TCP", Port: 80}))
	return s, id, listenerID, poolID
}

func TestLoadBalancers(t *testing.T) {
	s, id, listenerID, poolID := balanced(t, fake.Options{})
	l := connected(t, s).LoadBalancing()
	balancers, err := l.LoadBalancers(t.Context())
	if err != nil || len(balancers) != 1 {
		t.Fatalf("got %v, %v", balancers, err)
	}
	b := balancers[0]
	if b.ID != id || b.Name != "kube_service_k_ns_web" || b.Description != "of k" || b.ProjectID != "garden" || b.ProvisioningStatus != "ACTIVE" ||
		b.OperatingStatus != "ONLINE" || b.VIP != netip.MustParseAddr("10.0.0.9") || b.VIPPortID == "" || !b.AdminUp || !slices.Equal(b.Tags, []string{"a", "b"}) {
		t.Errorf("got %+v", b)
	}
	listeners, err := l.Listeners(t.Context())
	if err != nil || len(listeners) != 2 {
		t.Fatalf("got %v, %v", listeners, err)
	}
	if i := listeners[0]; i.ID != listenerID || i.Name != "l" || i.ProjectID != "garden" || i.Protocol != "TCP" || i.Port != 80 || i.DefaultPoolID != poolID ||
		!i.AdminUp || !slices.Equal(i.LoadBalancerIDs, []string{id}) || !slices.Equal(i.Tags, []string{"t"}) || i.ProvisioningStatus != "ACTIVE" {
		t.Errorf("got %+v", i)
	}
	if i := listeners[1]; i.DefaultPoolID != "" || i.AdminUp || i.Protocol != "UDP" || i.ProvisioningStatus != "ERROR" {
		t.Errorf("got %+v", i)
	}
	pools, err := l.Pools(t.Context())
	if err != nil || len(pools) != 1 {
		t.Fatalf("got %v, %v", pools, err)
	}
	if p := pools[0]; p.ID != poolID || p.Name != "p" || p.ProjectID != "garden" || p.Protocol != "TCP" || !p.AdminUp || p.ProvisioningStatus != "ACTIVE" ||
		!slices.Equal(p.LoadBalancerIDs, []string{id}) || !slices.Equal(p.ListenerIDs, []string{listenerID}) || !slices.Equal(p.Tags, []string{"u"}) {
		t.Errorf("got %+v", p)
	}
	members, err := l.Members(t.Context(), poolID)
	if err != nil || len(members) != 2 {
		t.Fatalf("got %v, %v", members, err)
	}
	want := Member{ID: members[0].ID, Name: "m", ProvisioningStatus: "ACTIVE", OperatingStatus: "NO_MONITOR", Address: netip.MustParseAddr("10.0.0.5"), Port: 30080, Weight: 7, AdminUp: true}
	if members[0] != want {
		t.Errorf("got %+v", members[0])
	}
	if m := members[1]; m.Address != netip.MustParseAddr("fd00::5") || m.AdminUp || !m.Backup || m.Weight != 0 || m.OperatingStatus != "ERROR" {
		t.Errorf("got %+v", m)
	}
	for _, r := range s.Requests() {
		if strings.HasSuffix(r.Path, "s") && !strings.HasSuffix(r.Path, "/members") && r.Query != "project_id=garden" {
			t.Errorf("an administrator would see all projects: %s?%s", r.Path, r.Query)
		}
	}
	if _, err := l.Members(t.Context(), "none"); !IsNotFound(err) {
		t.Errorf("members of no pool: %v", err)
	}
}

// TestLoadBalancersOfAnAdministrator reads pages whose links do not repeat the filter by project.
func TestLoadBalancersOfAnAdministrator(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	s.AddAdmin("gardener", secretWord, "garden")
	for range 3 {
		for _, project := range []string{"garden", "other"} {
			id := s.AddLoadBalancer(project, fake.LoadBalancer{VIP: "10.0.0.9"})
			s.AddListener(id, fake.Listener{Protocol: "TCP", Port: 80})
			s.AddPool(id, fake.Pool{Protocol: "TCP"})
		}
	}
	l := connected(t, s).LoadBalancing()
	balancers, err := l.LoadBalancers(t.Context())
	if err != nil || len(balancers) != 3 || slices.ContainsFunc(balancers, func(b LoadBalancer) bool { return b.ProjectID != "garden" }) {
		t.Errorf("got %v, %v", balancers, err)
	}
	if n := len(s.Requests()); n < 4 {
		t.Errorf("only %d requests: there were no pages", n)
	}
	if listeners, err := l.Listeners(t.Context()); err != nil || len(listeners) != 3 {
		t.Errorf("got %v, %v", listeners, err)
	}
	if pools, err := l.Pools(t.Context()); err != nil || len(pools) != 3 {
		t.Errorf("got %v, %v", pools, err)
	}
	s.Inject(fake.Fault{Path: "/load-balancer/v2.0/lbaas/loadbalancers", Skip: 1, Status: 403})
	if balancers, err := l.LoadBalancers(t.Context()); balancers != nil || ReasonOf(err) != ReasonForbidden {
		t.Errorf("with a page that fails: %v, %v", balancers, err)
	}
}

func TestDeleteLoadBalancer(t *testing.T) {
	s, id, listenerID, poolID := balanced(t, fake.Options{})
	l := connected(t, s).LoadBalancing()
	foreign := s.LoadBalancers("other")[0].ID
	if err := l.DeleteLoadBalancer(t.Context(), foreign); ReasonOf(err) != ReasonForbidden {
		t.Errorf("the neighbour's: %v", err)
	}
	s.Hold(id)
	for name, err := range map[string]error{
		"load balancer": l.DeleteLoadBalancer(t.Context(), id), "listener": l.DeleteListener(t.Context(), listenerID),
		"pool": l.DeletePool(t.Context(), poolID), "tags": l.SetTags(t.Context(), id, nil),
	} {
		if ReasonOf(err) != ReasonConflict || !strings.Contains(err.Error(), "409") {
			t.Errorf("%s while it is PENDING: %v", name, err)
		}
	}
	s.Release(id)
	if err := l.SetTags(t.Context(), id, []string{"b"}); err != nil {
		t.Error(err)
	}
	if got := s.LoadBalancers("garden")[0].Tags; !slices.Equal(got, []string{"b"}) {
		t.Errorf("tags %v", got)
	}
	if err := l.SetTags(t.Context(), id, nil); err != nil || len(s.LoadBalancers("garden")[0].Tags) != 0 {
		t.Errorf("no tags: %v, %v", s.LoadBalancers("garden")[0].Tags, err)
	}
	for range 2 { // the second time it has been deleted
		if err := l.DeleteListener(t.Context(), listenerID); err != nil {
			t.Error(err)
		}
		if err := l.DeletePool(t.Context(), poolID); err != nil {
			t.Error(err)
		}
	}
	if listeners, err := l.Listeners(t.Context()); err != nil || len(listeners) != 1 {
		t.Errorf("got %v, %v", listeners, err)
	}
	s.Hold(id)
	s.ChangeLoadBalancer(id, func(b *fake.LoadBalancer) { b.ProvisioningStatus = "ERROR" })
	if err := l.SetTags(t.Context(), id, nil); ReasonOf(err) != ReasonConflict {
		t.Errorf("tags of one in ERROR: %v", err)
	}
	if err := l.DeleteLoadBalancer(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := l.DeleteLoadBalancer(t.Context(), id); ReasonOf(err) != ReasonConflict || !strings.Contains(err.Error(), "PENDING_DELETE") {
		t.Errorf("on its way already: %v", err)
	}
	s.Release(id)
	if err := l.DeleteLoadBalancer(t.Context(), id); err != nil {
		t.Errorf("already deleted: %v", err)
	}
	if balancers, err := l.LoadBalancers(t.Context()); err != nil || len(balancers) != 0 {
		t.Errorf("got %v, %v", balancers, err)
	}
	if left := s.LoadBalancers("other"); len(left) != 1 || left[0].ProvisioningStatus != "ACTIVE" {
		t.Errorf("of the neighbour: %v", left)
	}
}

func TestBalancersThatCannotBeReliedOn(t *testing.T) {
	const root = "/load-balancer/v2.0/lbaas/"
	for path, bodies := range map[string][]string{
		"loadbalancers":        {`{}`, `{"loadbalancers": [{"id": "a", "project_id": "garden"}]}`, `{"loadbalancers": [{"id": "a", "provisioning_status": "ACTIVE", "vip_address": "nonsense"}]}`},
		"listeners":            {`{"listeners": null}`, `{"listeners": [{"provisioning_status": "ACTIVE"}]}`},
		"pools":                {`{"pools": [{"id": "a"}]}`},
		"pools/p/members":      {`{"members": [{"id": "a"}]}`, `{"members": [{"address": "10.0.0.1"}]}`},
		"loadbalancers?broken": {`{"loadbalancers": [], "loadbalancers_links": 1}`},
	} {
		path, _, _ := strings.Cut(path, "?")
		for _, body := range bodies {
			s := newFake(t, fake.Options{})
			l := connected(t, s).LoadBalancing()
			s.Inject(fake.Fault{Path: root + path, Status: 200, Body: body})
			request := map[string]func() (int, error){
				"loadbalancers":   func() (int, error) { all, err := l.LoadBalancers(t.Context()); return len(all), err },
				"listeners":       func() (int, error) { all, err := l.Listeners(t.Context()); return len(all), err },
				"pools":           func() (int, error) { all, err := l.Pools(t.Context()); return len(all), err },
				"pools/p/members": func() (int, error) { all, err := l.Members(t.Context(), "p"); return len(all), err },
			}
			if n, err := request[path](); n != 0 || ReasonOf(err) != ReasonIncomplete {
				t.Errorf("%s: got %d, %v", body, n, err)
			}
		}
	}
}
