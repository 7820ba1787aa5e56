// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/capitest"
)

// neighbors creates what other clusters have in the same project: one whose name has the same prefix, and one of the same name in
// another namespace.
func (w *world) neighbors() (check func()) {
	tag := func(cluster string) map[string]string {
		return map[string]string{"cinder.csi.openstack.org/cluster": cluster}
	}
	var volumes, balancers []string
	for _, cluster := range []string{capitest.Namespace + "-web-2", "other-web", "web"} {
		volumes = append(volumes, "volume of "+cluster)
		balancers = append(balancers, "kube_service_"+cluster+"_default_web")
		w.cloud.AddVolume(project, fake.Volume{Name: "volume of " + cluster, Metadata: tag(cluster)})
		w.cloud.AddLoadBalancer(project, fake.LoadBalancer{Name: "kube_service_" + cluster + "_default_web", Description: "Kubernetes external service default/web from cluster " + cluster})
	}
	return func() {
		w.Helper()
		var haveVolumes, haveBalancers []string
		for _, v := range w.cloud.Volumes(project) {
			haveVolumes = append(haveVolumes, v.Name)
		}
		for _, b := range w.cloud.LoadBalancers(project) {
			haveBalancers = append(haveBalancers, b.Name)
		}
		slices.Sort(haveVolumes)
		slices.Sort(haveBalancers)
		slices.Sort(volumes)
		slices.Sort(balancers)
		if !slices.Equal(haveVolumes, volumes) || !slices.Equal(haveBalancers, balancers) {
			w.Errorf("left are volumes %q and load balancers %q, want %q and %q", haveVolumes, haveBalancers, volumes, balancers)
		}
		if ips, groups := w.cloud.FloatingIPs(project), w.cloud.SecurityGroups(project); len(ips) > 0 || len(groups) > 0 {
			w.Errorf("left are floating IPs %+v and security groups %+v", ips, groups)
		}
	}
}

// A Cluster is deleted by Cluster API, while the controller manager is killed in each stage, and leaves nothing in OpenStack.
func TestClusterIsDeletedWithItsResources(t *testing.T) {
	w := newWorld(t, "")
	l := w.Workload()
	cluster := w.Cluster(capitest.Namespace, "web", "", l.Kubeconfig(), "web-cp", "web-worker")
	k := w.Kluster(capitest.Namespace, "web")
	w.Hooked("web-cp", "web-worker")
	w.fill(l, k)
	check := w.neighbors()
	// A Machine that is deleted without its Cluster is not delayed.
	worker := capitest.NewMachine("web-worker")
	if err := w.Client.Delete(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the deletion of a Machine", func(ctx context.Context) error { return w.Deleted(ctx, worker) })

	reported := map[string]bool{}
	described := false
	stages := w.Delete(cluster, k, "web-cp", func(cluster *unstructured.Unstructured) {
		c := desired.ClusterOf(cluster.Object).Completed
		if c == nil {
			return
		}
		reported[c.Status] = true
		if !described {
			out, err := w.Clusterctl("describe", "cluster", "web", "--show-conditions=Cluster")
			described = err == nil && strings.Contains(out, desired.ConditionCompleted)
		}
	})
	if len(stages) < 4 || !reported["False"] || !described {
		t.Errorf("the manager was killed in %v, the Cluster reported %v, clusterctl shows it: %t", stages, reported, described)
	}
	if deleted := w.Provider.Deletions(); !slices.Equal(deleted, []string{k.RouterID()}) {
		t.Errorf("the provider deleted routers %q", deleted)
	}
	check()
	if w.Provider.LostBastion() {
		t.Error("the bastion was deleted before its network")
	}
}
