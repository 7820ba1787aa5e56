// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"
)

const (
	listeners = "load-balancer/v2/lbaas/listeners/"
	pools     = "load-balancer/v2/lbaas/pools/"
)

// grant gives a user roles in the project of another one.
func (a *api) grant(admin *api, to *api, roles ...string) {
	a.t.Helper()
	user := admin.call(http.MethodGet, "identity/users?name="+to.user, nil).body["users"].([]any)[0].(map[string]any)["id"].(string)
	for _, name := range roles {
		role := admin.call(http.MethodGet, "identity/roles?name="+name, nil).body["roles"].([]any)[0].(map[string]any)["id"].(string)
		admin.must(http.MethodPut, "identity/projects/"+a.projectID+"/users/"+user+"/roles/"+role, nil)
	}
}

// edit changes an object of a load balancer.
func (a *api) edit(loadBalancer, path, kind string, pairs ...any) {
	a.t.Helper()
	a.must(http.MethodPut, path, wrap(kind, pairs...))
	a.active(loadBalancer)
}

// drop deletes an object of a load balancer.
func (a *api) drop(loadBalancer, path string) {
	a.t.Helper()
	a.must(http.MethodDelete, path, nil)
	a.active(loadBalancer)
}

// TestDiscoverer checks that a discoverer copies the load balancers of all projects that its user has a role in, and follows their
// changes.
func TestDiscoverer(t *testing.T) {
	needTestbed(t)
	d := newDiscovered(t)
	admin, shop, bank, closed := realUser(t, "admin"), newProject(t), newProject(t), newProject(t)
	bank.grant(admin, shop, "member", octaviaMember)
	closed.grant(admin, shop, "reader")
	d.namespaces(shop.project, bank.project, closed.project)
	_, subnet, _ := shop.network()
	web := shop.loadBalancer(subnet, "Web shop")
	listener, pool := shop.listener(web, "HTTP", 80)
	first := shop.member(web, pool, "10.0.0.5", 8080)
	second := shop.member(web, pool, "10.0.0.6", 8081)
	_, bankSubnet, _ := bank.network()
	dns := bank.loadBalancer(bankSubnet, "dns")
	_, udp := bank.listener(dns, "UDP", 53)
	bank.member(dns, udp, "10.0.0.7", 5353)
	bank.must(http.MethodPost, listeners, wrap("listener", "loadbalancer_id", dns, "protocol", "TCP", "protocol_port", 53))
	bank.active(dns)
	wantWeb := func(endpoints string) []string { return []string{web + " Web-shop: port-80 80/TCP" + endpoints} }
	wantDNS := dns + " dns: port-53 53/TCP, port-53-udp 53/UDP, port-53-udp=10.0.0.7:5353 ready"

	p := d.discover(shop.environment())
	d.wants("the first sync", shop.project, wantWeb(", port-80=10.0.0.5:8080 ready, port-80=10.0.0.6:8081 ready")...)
	d.wants("another project", bank.project, wantDNS)
	forbidden := "AuthenticationError: project " + closed.project
	d.reports("a project without permissions", forbidden)
	if page, err := p.page("/metrics"); err != nil || !strings.Contains(page, `path="/load-balancer/v2.0/lbaas/pools/{id}/members"`) && !strings.Contains(page, `lbaas/pools/{id}/members"`) || strings.Contains(page, pool) {
		t.Errorf("metrics: %v", err)
	}

	shop.edit(web, loadBalancers+web, "loadbalancer", "name", "renamed")
	d.wants("renamed", shop.project, web+" renamed: port-80 80/TCP, port-80=10.0.0.5:8080 ready, port-80=10.0.0.6:8081 ready")
	shop.edit(web, loadBalancers+web, "loadbalancer", "name", "Web shop")
	shop.edit(web, pools+pool+"/members/"+first, "member", "weight", 0)
	shop.edit(web, pools+pool+"/members/"+second, "member", "admin_state_up", false)
	d.wants("weight 0 and disabled", shop.project, wantWeb(", port-80=10.0.0.5:8080 draining, port-80=10.0.0.6:8081 down")...)
	shop.edit(web, pools+pool+"/members/"+first, "member", "weight", 3)
	shop.edit(web, pools+pool+"/members/"+second, "member", "admin_state_up", true, "backup", true)
	d.wants("a backup", shop.project, wantWeb(", port-80=10.0.0.5:8080 ready, port-80=10.0.0.6:8081 down")...)
	control(t, nil, "sql", "octavia", "UPDATE member SET operating_status='ERROR' WHERE id='"+first+"'")
	d.wants("the backup is needed", shop.project, wantWeb(", port-80=10.0.0.5:8080 down, port-80=10.0.0.6:8081 ready")...)
	control(t, nil, "sql", "octavia", "UPDATE member SET operating_status='ONLINE' WHERE id='"+first+"'")
	shop.drop(web, pools+pool+"/members/"+second)
	d.wants("a member less", shop.project, wantWeb(", port-80=10.0.0.5:8080 ready")...)

	t.Run("pending", func(t *testing.T) {
		control(t, nil, "freeze", "octavia-worker")
		t.Cleanup(func() { control(t, nil, "thaw", "octavia-worker") })
		shop.must(http.MethodDelete, listeners+listener, nil)
		before := d.versions(shop.project)
		bank.must(http.MethodGet, loadBalancers+dns, nil)
		d.reports("still", forbidden)
		if after := d.versions(shop.project); before != after {
			t.Errorf("a load balancer that is being changed was written:\n%s\nthen\n%s", before, after)
		}
	})
	shop.active(web)
	d.wants("the listener has been deleted", shop.project, web+" Web-shop: ")

	t.Run("down", func(t *testing.T) {
		d.stop(p)
		before := d.versions(bank.project)
		shop.must(http.MethodDelete, loadBalancers+web+"?cascade=true", nil)
		shop.deleted(loadBalancers + web)
		p = d.discover(shop.environment())
		d.wants("deleted while it was down", shop.project)
		if after := d.versions(bank.project); before != after {
			t.Errorf("written without need:\n%s\nthen\n%s", before, after)
		}
	})

	t.Run("outage", func(t *testing.T) {
		before := d.versions(bank.project)
		t.Cleanup(func() { control(t, nil, "up") })
		control(t, nil, "stop", "octavia-api")
		d.reports("no Octavia", "ConnectionError: the backend ")
		if after := d.versions(bank.project); before != after {
			t.Errorf("written in an outage:\n%s\nthen\n%s", before, after)
		}
		control(t, nil, "up")
		d.reports("Octavia again", forbidden)
	})

	closed.grant(admin, shop, octaviaMember)
	d.reports("the right is given")

	t.Run("disabled", func(t *testing.T) {
		enable := func(yes bool) {
			admin.must(http.MethodPatch, "identity/projects/"+bank.projectID, wrap("project", "enabled", yes))
		}
		t.Cleanup(func() { enable(true) })
		enable(false)
		d.reports("Keystone gives no token for it", "InvalidService: project "+bank.project)
		d.wants("it keeps what it has", bank.project, wantDNS)
		// Keystone reports that it is enabled again only after its cache of the list expires, after ten minutes.
	})
}
