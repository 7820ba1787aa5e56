// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"groundskeeper.io/groundskeeper/test/standin"
	"groundskeeper.io/groundskeeper/test/support/capitest"
)

// TestClusterAPI deletes a Cluster of Cluster API whose cluster has the real cloud controller manager: nothing that the cluster made, and
// nothing that was made for it, is left. In the same project are a Cluster of the same name in another namespace, and clusters of which one
// name is a prefix of the other: they lose nothing.
func TestClusterAPI(t *testing.T) {
	needTestbed(t)
	home := newProject(t)
	_, subnet, router := home.network()
	public := home.gateway(router)
	cloud := &projectCloud{api: home.in(t), public: public, ports: map[string]string{}, groups: map[string]string{}}
	w := capitest.New(t, cloud, "")
	w.Patience = patience
	l := w.Workload()
	w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	w.Cluster("other", "web", "", kubeconfig(t, l.Plane.AdminKubeconfig(), func(server *string, _ *[]byte) { *server = "https://127.0.0.1:1" }))
	other := w.Kluster("other", "web")
	furnish := func(cluster, disk, subnet string) {
		group := home.furnish(cluster, disk, subnet, public)
		t.Cleanup(func() { home.call(http.MethodDelete, group, nil) })
	}
	furnish(other.ClusterName(), other.CSIClusterID(), other.Status.Openstack.LBSubnetID)
	home.must(http.MethodPut, "network/v2.0/routers/"+other.RouterID()+"/add_extraroutes", hops("100.100.1.0/24 10.6.0.5"))
	for _, name := range []string{"clusters-we", "clusters-web-2", "web"} {
		furnish(name, name, subnet)
	}
	collections := projectCollections(home.projectID)
	before := home.list(collections)

	cluster := w.Cluster(capitest.Namespace, "web", "", l.Kubeconfig(), "web-cp")
	k := w.Kluster(capitest.Namespace, "web")
	w.Hooked("web-cp")
	w.Kubectl("", "label", "machines.cluster.x-k8s.io", "--namespace="+capitest.Namespace, "web-cp", "cluster.x-k8s.io/control-plane=")
	server := l.Join(cluster, "web-cp", "100.100.1.0/24")
	kill := home.runCloudController(controllerConfig{
		kubeconfig: l.Plane.AdminKubeconfig(), cluster: k.ClusterName(), pods: *k.Spec.ClusterCIDR,
		subnet: k.Status.Openstack.LBSubnetID, router: k.RouterID(), public: public,
	})
	// The cloud controller manager ends with the server that it runs on.
	stop := func(id string) {
		if id == server {
			kill()
		}
	}
	cloud.stop.Store(&stop)
	l.Fill(standin.Config{
		Cloud:       standin.Credentials{AuthURL: home.authURL, User: home.user, Password: home.password, Project: home.project},
		ClusterName: k.ClusterName(), ClusterID: k.CSIClusterID(), // without a subnet: no load balancers
	})
	within(t, "OpenStack has everything of the cluster", func() error {
		made := strings.Join(before.leftovers(home.list(collections)), "\n")
		for _, kind := range []string{"volumes", "loadbalancers", "floatingips", "security_groups", "networks", "subnets", "routers", "ports", "servers"} {
			if !strings.Contains("\n"+made, "\n"+kind+" ") {
				return fmt.Errorf("there are no new %s in\n%s", kind, made)
			}
		}
		if routes := home.must(http.MethodGet, "network/v2.0/routers/"+k.RouterID(), nil)["routes"].([]any); len(routes) != 1 {
			return fmt.Errorf("the router has routes %v", routes)
		}
		return nil
	})

	stages := w.Delete(cluster, k, "web-cp", func(*unstructured.Unstructured) {})
	if len(stages) < 4 {
		t.Errorf("the manager was killed in %v", stages)
	}
	if deleted := w.Provider.Deletions(); !slices.Equal(deleted, []string{k.RouterID()}) || w.Provider.LostBastion() {
		t.Errorf("the provider deleted routers %q; its bastion was deleted by another: %t", deleted, w.Provider.LostBastion())
	}
	now := home.list(collections)
	for _, object := range before.leftovers(now) {
		t.Error("left behind:", object)
	}
	for id, object := range before {
		kind, _, _ := strings.Cut(id, " ")
		switch is, exists := now[id]; {
		case !exists:
			t.Error("deleted, and not of the Cluster:", object)
		case is != object && kind != "servers" && kind != "ports": // their state changes without a request
			t.Errorf("changed, and not of the Cluster: from %s to %s", object, is)
		}
	}
}
