// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"fmt"
	"slices"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/standin"
	"groundskeeper.io/groundskeeper/test/support/capitest"
)

const (
	project  = "garden"
	password = "first"
)

// world is a management cluster, and a fake OpenStack.
type world struct {
	*capitest.World
	cloud    *fake.Server
	external string
}

// newWorld starts it. The settings are those of controllers.kluster.clusterAPI.
func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	w := &world{cloud: fake.New(fake.Options{})}
	t.Cleanup(w.cloud.Close)
	w.cloud.AddUser("gardener", password, project)
	w.external = w.cloud.AddExternalNetwork("203.0.113.0/24")
	w.World = capitest.New(t, &fakeCloud{Server: w.cloud}, settings)
	return w
}

// fill creates a volume, a load balancer and a route in OpenStack, through the cluster.
func (w *world) fill(l *capitest.Workload, k *kubernikusv1.Kluster) {
	w.Helper()
	l.Fill(standin.Config{
		Cloud:       standin.Credentials{AuthURL: w.cloud.AuthURL(), User: "gardener", Password: password, Project: project},
		ClusterName: k.ClusterName(), ClusterID: k.CSIClusterID(), SubnetID: k.Status.Openstack.LBSubnetID, FloatingNetworkID: w.external,
	})
	w.cloud.SetRoutes(k.RouterID(), fake.Route{Destination: "100.100.1.0/24", NextHop: "10.6.0.11"})
}

// fakeCloud is the fake OpenStack as the provider uses it.
type fakeCloud struct {
	*fake.Server
	// bastions is how many there were.
	bastions int
}

func (c *fakeCloud) CloudsYAML() string {
	return fmt.Sprintf(`{clouds: {cloud: {auth: {auth_url: %q, username: gardener, password: %s, user_domain_name: Default, project_id: %s}}, other: {}}}`, c.AuthURL(), password, project)
}

func (c *fakeCloud) CreateNetwork(string) (capitest.Network, error) {
	network := c.AddNetwork("10.6.0.0/24")
	return capitest.Network{ID: network, Router: c.AddRouter(project, network)}, nil
}

// DeleteNetwork only checks that the network could be deleted, which the fake cannot do.
func (c *fakeCloud) DeleteNetwork(network capitest.Network) error {
	if routes := c.Routes(network.Router); len(routes) > 0 {
		return fmt.Errorf("router %s is in use by routes %v", network.Router, routes)
	}
	if slices.ContainsFunc(c.LoadBalancers(project), func(b fake.LoadBalancer) bool { return b.VIPNetworkID == network.ID }) {
		return fmt.Errorf("network %s is in use by load balancers", network.ID)
	}
	return nil
}

func (c *fakeCloud) CreateServer(network capitest.Network, address string) (string, error) {
	return c.AddServer(project, network.ID, address, "ACTIVE"), nil
}

func (c *fakeCloud) DeleteServer(id string) error {
	c.RemoveServer(id, false)
	return nil
}

func (c *fakeCloud) CreateFloatingIP(_ capitest.Network, server string) (id string, err error) {
	// Not one of the addresses that the cloud assigns.
	address := fmt.Sprintf("198.18.%d.%d", c.bastions/256, c.bastions%256)
	c.bastions++
	c.AddFloatingIP(project, address, server)
	all := c.FloatingIPs(project)
	return all[slices.IndexFunc(all, func(ip fake.FloatingIP) bool { return ip.Address == address })].ID, nil
}

func (c *fakeCloud) DeleteFloatingIP(id string) (existed bool, err error) {
	existed = slices.ContainsFunc(c.FloatingIPs(project), func(ip fake.FloatingIP) bool { return ip.ID == id })
	c.RemoveFloatingIP(id)
	return existed, nil
}
