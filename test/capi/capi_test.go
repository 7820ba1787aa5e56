// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
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

// topology creates a control plane, and returns the fields of a Cluster with a topology that has it.
func (w *world) topology(name string) string {
	w.Helper()
	w.Create(w.Object(`
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: StandInControlPlane
metadata: {name: %s, namespace: %s}
spec: {version: v1.36.3}
`, name, capitest.Namespace))
	return `topology: {classRef: {name: class}, version: v1.36.3}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: StandInControlPlane, name: ` + name + `}`
}

// The Runtime Extension retains a Cluster with a topology, and its Machines have no hooks.
func TestRuntimeExtension(t *testing.T) {
	w := newWorld(t, ", runtimeExtension: true")
	// The webhooks and the extension have the same address and CA.
	webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "groundskeeper"}, webhooks); err != nil {
		t.Fatal(err)
	}
	clientConfig := webhooks.Webhooks[0].ClientConfig
	address := (*clientConfig.URL)[:len(*clientConfig.URL)-len("/webhooks/validate-namespace-deletion")]
	w.Create(w.Object(`
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: groundskeeper}
spec:
  clientConfig: {url: %q, caBundle: %s}
  namespaceSelector: {matchLabels: {groundskeeper.io/deorbit: "true"}}
`, address, base64.StdEncoding.EncodeToString(clientConfig.CABundle)))
	w.Kubectl("", "wait", "--for=condition=Discovered", "--timeout=2m", "extensionconfig/groundskeeper")

	// A class without its templates: the topology controller creates nothing, and calls the hooks.
	w.Create(w.Object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: %s}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, name: none}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: none}}
`, capitest.Namespace))
	l := w.Workload()
	cluster := w.Cluster(capitest.Namespace, "web", w.topology("web"), l.Kubeconfig(), "web-cp")
	k := w.Kluster(capitest.Namespace, "web")
	w.fill(l, k)
	check := w.neighbors()
	machine := capitest.NewMachine("web-cp")
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil || machine.GetAnnotations()[desired.AnnotationHook] != "" {
		t.Errorf("%v, the Machine has annotations %v", err, machine.GetAnnotations())
	}
	if err := w.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	retained := false
	w.Eventually("the deletion of the Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(k), now); err == nil && now.Status.Deorbit != nil {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(machine), machine); err == nil && machine.GetDeletionTimestamp().IsZero() {
				retained = true
			} else if at := now.Status.Deorbit.Stage; err == nil && slices.Contains([]kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims}, at) {
				t.Errorf("the Machine is deleted in stage %s", at)
			}
		}
		return w.Deleted(ctx, cluster)
	})
	if !retained {
		t.Error("the Machine was never retained")
	}
	w.Eventually("the deletion of the Kluster", func(ctx context.Context) error { return w.Deleted(ctx, k) })
	check()

	// A Cluster that is not selected is deleted without delay.
	other := w.Cluster(capitest.Namespace, "other", w.topology("other"), l.Kubeconfig(), "other-cp")
	w.Eventually("the deselection", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(other.Object, "false", "metadata", "labels", "groundskeeper.io/deorbit"); err != nil {
			return err
		}
		return w.Client.Update(ctx, other)
	})
	if err := w.Client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the deletion of a Cluster that is not selected", func(ctx context.Context) error { return w.Deleted(ctx, other) })
}
