// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const loadBalancers = "load-balancer/v2/lbaas/loadbalancers/"

// loadBalancer makes a load balancer, and waits until it may be changed. It is deleted with the test.
func (a *api) loadBalancer(subnet, name string, more ...any) string {
	a.t.Helper()
	pairs := append([]any{"name", name, "vip_subnet_id", subnet}, more...)
	id := a.must(http.MethodPost, loadBalancers, wrap("loadbalancer", pairs...))["id"].(string)
	a.t.Cleanup(func() {
		eventually(a.t, "load balancer "+id+" may be deleted", func() bool {
			return a.call(http.MethodDelete, loadBalancers+id+"?cascade=true", nil).status != http.StatusConflict
		})
		a.deleted(loadBalancers + id)
	})
	a.active(id)
	return id
}

// active waits until a load balancer may be changed.
func (a *api) active(id string) {
	a.t.Helper()
	a.status(loadBalancers+id, "provisioning_status", "ACTIVE")
}

// listener makes a listener and a pool behind it.
func (a *api) listener(loadBalancer, protocol string, port int) (listener, pool string) {
	a.t.Helper()
	listener = a.must(http.MethodPost, "load-balancer/v2/lbaas/listeners", wrap("listener", "name", "listener",
		"loadbalancer_id", loadBalancer, "protocol", protocol, "protocol_port", port))["id"].(string)
	a.active(loadBalancer)
	pool = a.must(http.MethodPost, "load-balancer/v2/lbaas/pools", wrap("pool", "name", "pool",
		"listener_id", listener, "protocol", protocol, "lb_algorithm", "ROUND_ROBIN"))["id"].(string)
	a.active(loadBalancer)
	return listener, pool
}

// member makes a member of a pool.
func (a *api) member(loadBalancer, pool, address string, port int, more ...any) string {
	a.t.Helper()
	id := a.must(http.MethodPost, "load-balancer/v2/lbaas/pools/"+pool+"/members",
		wrap("member", append([]any{"address", address, "protocol_port", port}, more...)...))["id"].(string)
	a.active(loadBalancer)
	return id
}

func TestLoadBalancers(t *testing.T) {
	needTestbed(t)
	ctx, a, other := context.Background(), newProject(t), newProject(t)
	octavia := a.client(options()).LoadBalancing()
	_, subnet, _ := a.network()
	_, foreignSubnet, _ := other.network()
	id := a.loadBalancer(subnet, "kube_service_k_default_web", "description", "Kubernetes external service default/web from cluster k", "tags", []string{"one", "two"})
	foreign := other.loadBalancer(foreignSubnet, "kube_service_k_default_web")
	listener, pool := a.listener(id, "TCP", 80)
	bare := a.must(http.MethodPost, "load-balancer/v2/lbaas/listeners", wrap("listener", "loadbalancer_id", id, "protocol", "UDP", "protocol_port", 80, "admin_state_up", false))["id"].(string)
	a.active(id)
	up := a.member(id, pool, "10.0.0.5", 30080)
	a.member(id, pool, "10.0.0.6", 30080, "weight", 0, "backup", true, "admin_state_up", false)

	all, err := octavia.LoadBalancers(ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("load balancers %+v, %v", all, err)
	}
	l := all[0]
	if l.ID != id || l.Name != "kube_service_k_default_web" || l.Description != "Kubernetes external service default/web from cluster k" || l.ProjectID != a.projectID ||
		l.ProvisioningStatus != "ACTIVE" || !l.AdminUp || !slices.Equal(l.Tags, []string{"one", "two"}) || !netip.MustParsePrefix("10.0.0.0/24").Contains(l.VIP) {
		t.Errorf("load balancer %+v", l)
	}
	if port := a.must(http.MethodGet, "network/v2.0/ports/"+l.VIPPortID, nil); port["device_owner"] != "Octavia" {
		t.Errorf("its port %v", port)
	}
	listeners, err := octavia.Listeners(ctx)
	if err != nil || len(listeners) != 2 {
		t.Fatalf("listeners %+v, %v", listeners, err)
	}
	for _, l := range listeners {
		ok := l.Port == 80 && l.ProjectID == a.projectID && slices.Equal(l.LoadBalancerIDs, []string{id}) && l.ProvisioningStatus == "ACTIVE"
		switch l.ID {
		case listener:
			ok = ok && l.Protocol == "TCP" && l.DefaultPoolID == pool && l.AdminUp
		case bare:
			ok = ok && l.Protocol == "UDP" && l.DefaultPoolID == "" && !l.AdminUp
		default:
			ok = false
		}
		if !ok {
			t.Errorf("listener %+v", l)
		}
	}
	pools, err := octavia.Pools(ctx)
	if err != nil || len(pools) != 1 || pools[0].ID != pool || !slices.Equal(pools[0].LoadBalancerIDs, []string{id}) || !slices.Equal(pools[0].ListenerIDs, []string{listener}) || !pools[0].AdminUp {
		t.Errorf("pools %+v, %v", pools, err)
	}
	members, err := octavia.Members(ctx, pool)
	if err != nil || len(members) != 2 {
		t.Fatalf("members %+v, %v", members, err)
	}
	for _, m := range members {
		first := m.ID == up
		if m.Port != 30080 || m.AdminUp != first || m.Backup == first || (m.Weight == 1) != first || m.OperatingStatus != "NO_MONITOR" && first || !m.Address.Is4() {
			t.Errorf("member %+v", m)
		}
	}

	if err := octavia.SetTags(ctx, id, []string{"two"}); err != nil {
		t.Error(err)
	}
	wantReason(t, "while it is PENDING_UPDATE", octavia.DeleteListener(ctx, bare), openstack.ReasonConflict)
	a.active(id)
	if all, err := octavia.LoadBalancers(ctx); err != nil || len(all) != 1 || !slices.Equal(all[0].Tags, []string{"two"}) {
		t.Errorf("with other tags %+v, %v", all, err)
	}
	for _, remove := range []func() error{
		func() error { return octavia.SetTags(ctx, id, nil) },
		func() error { return octavia.DeleteListener(ctx, listener) },
		func() error { return octavia.DeletePool(ctx, pool) },
		func() error { return octavia.DeletePool(ctx, pool) },         // has been deleted
		func() error { return octavia.DeleteListener(ctx, listener) }, // has been deleted
	} {
		if err := remove(); err != nil {
			t.Error(err)
		}
		a.active(id)
	}
	all, err = octavia.LoadBalancers(ctx)
	if listeners, _ := octavia.Listeners(ctx); err != nil || len(all) != 1 || len(all[0].Tags) != 0 || len(listeners) != 1 {
		t.Errorf("after the removals %+v with %+v, %v", all, listeners, err)
	}

	if err := octavia.DeleteLoadBalancer(ctx, foreign); err == nil {
		other.active(foreign)
	} else if openstack.ReasonOf(err) != openstack.ReasonForbidden {
		t.Errorf("a load balancer of another project: %v", err)
	}
	if err := octavia.DeleteLoadBalancer(ctx, id); err != nil {
		t.Error(err)
	}
	wantReason(t, "a load balancer that is being deleted", octavia.DeleteLoadBalancer(ctx, id), openstack.ReasonConflict)
	a.deleted(loadBalancers + id)
	if err := octavia.DeleteLoadBalancer(ctx, id); err != nil {
		t.Error(err)
	}
	a.deleted("network/v2.0/ports/" + l.VIPPortID)
	listeners, err = octavia.Listeners(ctx)
	if pools, _ := octavia.Pools(ctx); err != nil || len(listeners)+len(pools) != 0 {
		t.Errorf("below it %+v and %+v are left, %v", listeners, pools, err)
	}
}

// TestPendingLoadBalancer keeps a load balancer from being made.
func TestPendingLoadBalancer(t *testing.T) {
	needTestbed(t)
	ctx, a := context.Background(), newProject(t)
	octavia := a.client(options()).LoadBalancing()
	_, subnet, _ := a.network()
	control(t, nil, "freeze", "octavia-worker")
	thawed := false
	thaw := func() {
		if !thawed {
			thawed = true
			control(t, nil, "thaw", "octavia-worker")
		}
	}
	id := a.must(http.MethodPost, loadBalancers, wrap("loadbalancer", "name", "pending", "vip_subnet_id", subnet))["id"].(string)
	t.Cleanup(func() { a.deleted(loadBalancers + id) })
	t.Cleanup(thaw)
	all, err := octavia.LoadBalancers(ctx)
	if err != nil || len(all) != 1 || all[0].ProvisioningStatus != "PENDING_CREATE" {
		t.Errorf("load balancers %+v, %v", all, err)
	}
	wantReason(t, "delete it", octavia.DeleteLoadBalancer(ctx, id), openstack.ReasonConflict)
	wantReason(t, "tag it", octavia.SetTags(ctx, id, []string{"x"}), openstack.ReasonConflict)
	thaw()
	a.active(id)
	if err := octavia.DeleteLoadBalancer(ctx, id); err != nil {
		t.Error(err)
	}
}

// TestLoadBalancersWithoutPermission sends requests as a user that Octavia's rules do not allow to.
func TestLoadBalancersWithoutPermission(t *testing.T) {
	needTestbed(t)
	octavia := newProject(t, "member").client(options()).LoadBalancing()
	all, err := octavia.LoadBalancers(context.Background())
	wantReason(t, "without the role", err, openstack.ReasonForbidden)
	if all != nil {
		t.Errorf("and yet it gets %+v", all)
	}
}
