// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// project is an OpenStack project on a fake cloud.
type project struct {
	*fake.Server
	neutron openstack.Network
}

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{Server: fake.New(fake.Options{})}
	t.Cleanup(p.Close)
	p.AddUser("gardener", "password", "garden")
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6, MinBackoff: time.Nanosecond, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clients.Get(t.Context(), klustertest.Secret("s", p.AuthURL(), "gardener", "password", "garden", nil))
	if err != nil {
		t.Fatal(err)
	}
	p.neutron = client.Network()
	return p
}

func (p *project) probe(t *testing.T, spec kubernikusv1.OpenstackSpec, before kubernikusv1.OpenstackStatus) cloudView {
	t.Helper()
	p.Requests()
	return probeCloud(t.Context(), p.neutron, spec, before)
}

func TestDiscovery(t *testing.T) {
	p := newProject(t)
	if view := p.probe(t, kubernikusv1.OpenstackSpec{}, kubernikusv1.OpenstackStatus{}); view.err != nil || len(view.unclear) != 2 || !strings.Contains(view.unclear[0], "no router") {
		t.Errorf("an empty project: %+v", view)
	}
	network := p.AddNetwork("10.0.0.0/24")
	router := p.AddRouter("garden", network)
	found := p.probe(t, kubernikusv1.OpenstackSpec{}, kubernikusv1.OpenstackStatus{})
	if found.err != nil || len(found.unclear) > 0 || found.found.RouterID != router || found.found.NetworkID != network || found.found.LBSubnetID == "" {
		t.Fatalf("one of each: %+v", found)
	}
	if again := p.probe(t, kubernikusv1.OpenstackSpec{}, *found.found); again.err != nil || *again.found != *found.found {
		t.Errorf("found before: %+v", again)
	}
	if requests := p.Requests(); len(requests) != 1 {
		t.Errorf("what is known costs %d requests", len(requests))
	}

	// A resource that was found is used even if more are found later, and is determined again when it has been deleted.
	second := p.AddRouter("garden", p.AddNetwork("10.1.0.0/24"))
	if again := p.probe(t, kubernikusv1.OpenstackSpec{}, *found.found); len(again.unclear) > 0 || again.found.RouterID != router {
		t.Errorf("a second router: %+v", again)
	}
	fresh := p.probe(t, kubernikusv1.OpenstackSpec{}, kubernikusv1.OpenstackStatus{})
	if fresh.found.RouterID != "" || len(fresh.unclear) != 2 || !strings.Contains(fresh.unclear[0], "2 routers") ||
		!strings.Contains(fresh.unclear[0], second) || !strings.Contains(fresh.unclear[0], "spec.openstack.routerID") {
		t.Errorf("two routers: %+v", fresh)
	}
	deleted := kubernikusv1.OpenstackStatus{RouterID: "7d1f9b3e-0c55-4d3c-a0d4-9d3f1c0a4b11"}
	if view := p.probe(t, kubernikusv1.OpenstackSpec{}, deleted); view.err != nil || view.found.RouterID != "" || len(view.unclear) != 2 {
		t.Errorf("the router that was found has been deleted: %+v", view)
	}
	if view := p.probe(t, kubernikusv1.OpenstackSpec{RouterID: deleted.RouterID}, kubernikusv1.OpenstackStatus{}); !openstack.IsNotFound(view.err) || view.found != nil {
		t.Errorf("the router that is named does not exist: %+v", view)
	}
	spec := kubernikusv1.OpenstackSpec{RouterID: router, NetworkID: network}
	if view := p.probe(t, spec, *found.found); view.err != nil || len(view.unclear) > 0 || view.found.RouterID+view.found.NetworkID != "" || view.found.LBSubnetID == "" {
		t.Errorf("named by the spec: %+v", view)
	}
	p.Inject(fake.Fault{Path: "/network/v2.0/networks", Status: 503})
	if view := p.probe(t, kubernikusv1.OpenstackSpec{RouterID: router}, kubernikusv1.OpenstackStatus{}); openstack.ReasonOf(view.err) != openstack.ReasonUnreachable || view.found != nil {
		t.Errorf("a listing fails: %+v", view)
	}
}
