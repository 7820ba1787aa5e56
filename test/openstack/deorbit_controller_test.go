// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharedName is the default cluster name of the cloud controller manager, which applies when --cluster-name is not set.
const sharedName = "kubernetes"

// cloudController runs the OpenStack cloud controller manager in the cluster that is to be torn down, and returns a function that
// kills it.
func (d *craft) cloudController() (kill func()) {
	d.t.Helper()
	return d.runCloudController(controllerConfig{
		kubeconfig: d.workload.AdminKubeconfig(), cluster: d.cluster(), pods: *d.k.Spec.ClusterCIDR, subnet: d.subnet, router: d.router, public: d.public,
	})
}

// controllerConfig is what a cloud controller manager needs: its cluster, with the name and the range of its pods, and the network.
type controllerConfig struct{ kubeconfig, cluster, pods, subnet, router, public string }

// runCloudController runs the OpenStack cloud controller manager as a user, and returns a function that kills it.
func (a *api) runCloudController(c controllerConfig) (kill func()) {
	a.t.Helper()
	binary, err := filepath.Abs("../../_output/bin/openstack-cloud-controller-manager")
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		a.t.Fatal("there is no cloud controller manager: \"make cloud-provider-openstack\" builds it")
	}
	dir := a.t.TempDir()
	config := filepath.Join(dir, "cloud.conf")
	text := fmt.Sprintf("[Global]\nauth-url=%s\nusername=%s\npassword=%s\ntenant-name=%s\ndomain-name=Default\nregion=RegionOne\n"+
		"[LoadBalancer]\nsubnet-id=%s\nmember-subnet-id=%s\nfloating-network-id=%s\nmanage-security-groups=true\n[Route]\nrouter-id=%s\n",
		a.authURL, a.user, a.password, a.project, c.subnet, c.subnet, c.public, c.router)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "cloud-controller-manager.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	run := exec.Command(binary, "--cloud-provider=openstack", "--cloud-config="+config, "--kubeconfig="+c.kubeconfig,
		"--cluster-name="+c.cluster, "--cluster-cidr="+c.pods, "--allocate-node-cidrs", "--configure-cloud-routes",
		"--controllers=service-lb-controller,node-route-controller", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0", "--v=2")
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		a.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it was killed
	})
	a.t.Cleanup(func() {
		kill()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); a.t.Failed() && err == nil {
			lines := strings.Split(string(text), "\n")
			a.t.Logf("the last lines of the cloud controller manager:\n%s", strings.Join(lines[max(len(lines)-60, 0):], "\n"))
		}
	})
	return kill
}

// manned starts a cluster with the real cloud controller manager, a node, a volume and a Service, and waits until OpenStack has what
// that makes.
func (o *orbit) manned(t *testing.T, name string, change func(*craft)) (d *craft, kill func()) {
	t.Helper()
	d = o.launch(t, name, func(d *craft) {
		d.realController = true
		change(d)
	})
	port := d.portsOf(o.nodeID)[0]
	path := "network/v2.0/ports/" + port["id"].(string)
	t.Cleanup(func() { // an address pair is deleted together with the server
		d.must(http.MethodPut, path, wrap("port", "allowed_address_pairs", port["allowed_address_pairs"], "security_groups", port["security_groups"]))
	})
	d.node("worker")
	kill = d.cloudController()
	d.claim("data", "cinder")
	d.serve("web")
	within(t, "OpenStack has what the cloud controller manager makes", func() error {
		var kinds []string
		for _, thing := range d.things() {
			kinds = append(kinds, thing.kind)
		}
		if want := []string{"FloatingIP", "LoadBalancer", "Route", "SecurityGroup", "Volume"}; !slices.Equal(kinds, want) {
			return fmt.Errorf("it has %v, want %v", kinds, want)
		}
		if groups := d.must(http.MethodGet, path, nil)["security_groups"].([]any); !slices.Contains(groups, any(d.of("SecurityGroup"))) {
			return fmt.Errorf("the port of the node has the groups %v", groups)
		}
		return nil
	})
	return d, kill
}

// The cloud controller manager runs: it deletes the load balancer, the floating IP and the security group itself, and recreates the
// route of its node. The route is deleted when the node is deleted, for example by the tool that created the cluster.
func testLiveController(t *testing.T, o *orbit) {
	d, _ := o.manned(t, "live", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(90 * time.Second) })
	route := d.of("Route")
	d.leave()
	d.remains("Route", route, "it came back after it was removed")
	d.reports("RoutesCameBack", "")
	if err := d.inside.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}); err != nil {
		t.Fatal(err)
	}
	d.landed("Deorbited")
}

// testLiveControllerKeepsRoute runs the cloud controller manager and deletes no node: only the route is left over.
func testLiveControllerKeepsRoute(t *testing.T, o *orbit) {
	d, _ := o.manned(t, "resync", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(20 * time.Second) })
	route := d.of("Route")
	d.leave()
	d.landed("Leftovers", "Route "+route)
	if at := d.k.Status.Deorbit; len(at.Remaining) != 1 || !listed(at.Remaining, "Route", route, "it came back after it was removed") {
		t.Errorf("remaining %+v", at.Remaining)
	}
}

// The cloud controller manager no longer runs, and used the default cluster name, which many clusters share: the objects that it
// created are found by the IDs in the Service, and the security group is removed from the port of the node.
func testDeadController(t *testing.T, o *orbit) {
	d, kill := o.manned(t, "dead", func(d *craft) {
		d.k.Spec.CloudProvider.ClusterName, d.named = nil, sharedName
		d.k.Spec.Deorbit.StageTimeout = during(5 * time.Second)
	})
	kill()
	d.leave()
	d.landed("Deorbited")
	port := d.portsOf(o.nodeID)[0]
	if len(port["security_groups"].([]any)) != 1 || len(port["tags"].([]any)) != 0 {
		t.Errorf("the port of the node has the groups %v and the tags %v", port["security_groups"], port["tags"])
	}
}
