// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"groundskeeper.io/groundskeeper/test/support/capitest"
)

// projectCloud is a project as Cluster API's provider for OpenStack uses it. Everything in it is deleted with the test.
type projectCloud struct {
	*api
	public string
	// ports and groups are those of servers and networks.
	ports, groups map[string]string
	// stop is called before a server is deleted.
	stop atomic.Pointer[func(server string)]
}

// try is call with an error for what is rejected, other than with one of these codes. It returns the object below the first key.
func (c *projectCloud) try(method, path string, body any, ignored ...int) (object map[string]any, status int, err error) {
	got := c.call(method, path, body)
	if got.status >= 300 && !slices.Contains(ignored, got.status) {
		return nil, got.status, fmt.Errorf("%s %s: %d %s", method, path, got.status, got.text)
	}
	for _, inner := range got.body {
		if found, ok := inner.(map[string]any); ok {
			object = found
		}
	}
	return object, got.status, nil
}

// create creates an object, and returns its id.
func (c *projectCloud) create(path string, body any) (id string, err error) {
	object, _, err := c.try(http.MethodPost, path, body)
	if err != nil {
		return "", err
	}
	id, _ = object["id"].(string)
	return id, nil
}

// remove deletes an object that may not exist, and reports whether it did.
func (c *projectCloud) remove(path string) (existed bool, err error) {
	_, status, err := c.try(http.MethodDelete, path, nil, http.StatusNotFound)
	return status != http.StatusNotFound, err
}

func (c *projectCloud) CloudsYAML() string {
	return fmt.Sprintf("{clouds: {cloud: {region_name: RegionOne, auth: {auth_url: %q, username: %q, password: %q, user_domain_name: Default, project_id: %q}}, other: {}}}",
		c.authURL, c.user, c.password, c.projectID)
}

func (c *projectCloud) CreateNetwork(cluster string) (n capitest.Network, err error) {
	n.External = c.public
	if n.ID, err = c.create("network/v2.0/networks", wrap("network", "name", "k8s-clusterapi-cluster-"+cluster)); err != nil {
		return n, err
	}
	if n.Subnet, err = c.create("network/v2.0/subnets", wrap("subnet", "network_id", n.ID, "ip_version", 4, "cidr", "10.6.0.0/24")); err != nil {
		return n, err
	}
	gateway := map[string]any{"network_id": c.public}
	if n.Router, err = c.create("network/v2.0/routers", wrap("router", "name", "k8s-clusterapi-cluster-"+cluster, "external_gateway_info", gateway)); err != nil {
		return n, err
	}
	if _, _, err = c.try(http.MethodPut, "network/v2.0/routers/"+n.Router+"/add_router_interface", map[string]any{"subnet_id": n.Subnet}); err != nil {
		return n, err
	}
	group, err := c.create("network/v2.0/security-groups", wrap("security_group", "name", "k8s-cluster-"+cluster+"-secgroup-worker"))
	if err != nil {
		return n, err
	}
	c.groups[n.ID] = group
	c.t.Cleanup(func() {
		c.call(http.MethodPut, "network/v2.0/routers/"+n.Router, wrap("router", "routes", []any{}))
		if err := c.DeleteNetwork(n); err != nil {
			c.t.Error(err)
		}
	})
	return n, nil
}

func (c *projectCloud) DeleteNetwork(n capitest.Network) error {
	router := "network/v2.0/routers/" + n.Router
	if _, _, err := c.try(http.MethodPut, router+"/remove_router_interface", map[string]any{"subnet_id": n.Subnet}, http.StatusNotFound); err != nil {
		return err
	}
	for _, path := range []string{router, "network/v2.0/networks/" + n.ID, "network/v2.0/security-groups/" + c.groups[n.ID]} {
		if _, err := c.remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (c *projectCloud) CreateServer(n capitest.Network, address string) (id string, err error) {
	port, err := c.create("network/v2.0/ports", wrap("port", "network_id", n.ID, "security_groups", []string{c.groups[n.ID]},
		"fixed_ips", []any{map[string]any{"subnet_id": n.Subnet, "ip_address": address}}))
	if err != nil {
		return "", err
	}
	images, ok := c.call(http.MethodGet, "image/v2/images?name=noop", nil).body["images"].([]any)
	if !ok || len(images) == 0 {
		return "", fmt.Errorf("there are no images")
	}
	id, err = c.create("compute/servers", wrap("server", "name", "machine", "flavorRef", "1", "imageRef", images[0].(map[string]any)["id"],
		"networks", []any{map[string]any{"port": port}}))
	if err != nil {
		return "", err
	}
	c.ports[id] = port
	c.t.Cleanup(func() {
		eventually(c.t, "server "+id+" has been deleted", func() bool { return c.DeleteServer(id) == nil })
	})
	if !comesToHold(200*time.Millisecond, func() bool {
		server, _, err := c.try(http.MethodGet, "compute/servers/"+id, nil)
		return err == nil && server["status"] == "ACTIVE"
	}) {
		return "", fmt.Errorf("server %s does not start", id)
	}
	return id, nil
}

// DeleteServer fails until the server has been deleted.
func (c *projectCloud) DeleteServer(id string) error {
	if stop := c.stop.Load(); stop != nil {
		(*stop)(id)
	}
	existed, err := c.remove("compute/servers/" + id)
	if err != nil {
		return err
	}
	if existed {
		return fmt.Errorf("server %s is being deleted", id)
	}
	_, err = c.remove("network/v2.0/ports/" + c.ports[id])
	return err
}

func (c *projectCloud) CreateFloatingIP(_ capitest.Network, server string) (id string, err error) {
	id, err = c.create("network/v2.0/floatingips", wrap("floatingip", "floating_network_id", c.public, "port_id", c.ports[server]))
	if err != nil {
		return "", err
	}
	c.t.Cleanup(func() { c.call(http.MethodDelete, "network/v2.0/floatingips/"+id, nil) })
	return id, nil
}

func (c *projectCloud) DeleteFloatingIP(id string) (existed bool, err error) {
	return c.remove("network/v2.0/floatingips/" + id)
}
