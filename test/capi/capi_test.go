// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
)

// workload is a workload cluster, with a cloud controller and a CSI driver as soon as its network exists.
type workload struct {
	*world
	plane *plane.Plane
	c     client.WithWatch
}

func (w *world) workload() *workload {
	w.Helper()
	started := w.start(plane.Options{KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}})
	return &workload{world: w, plane: started, c: newClient(w.T, started.Config())}
}

func (l *workload) kubeconfig() []byte {
	l.Helper()
	content, err := os.ReadFile(l.plane.AdminKubeconfig())
	if err != nil {
		l.Fatal(err)
	}
	return content
}

// fill creates a volume, a load balancer and a route in OpenStack, through the cluster.
func (l *workload) fill(k *kubernikusv1.Kluster) {
	l.Helper()
	clientset, err := kubernetes.NewForConfig(l.plane.Config())
	if err != nil {
		l.Fatal(err)
	}
	cloudControllers, err := standin.Start(context.WithoutCancel(l.Context()), standin.Config{
		Kubernetes: clientset, Cloud: standin.Credentials{AuthURL: l.cloud.AuthURL(), User: "gardener", Password: "first", Project: project},
		ClusterName: k.ClusterName(), ClusterID: k.CSIClusterID(), SubnetID: k.Status.Openstack.LBSubnetID, FloatingNetworkID: l.external,
	})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(cloudControllers.Stop)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("cinder"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	for _, object := range []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "cinder"}, Provisioner: "cinder.csi.openstack.org", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}, claim, service,
	} {
		if err := l.c.Create(l.Context(), object); err != nil {
			l.Fatal(err)
		}
	}
	l.eventually("a volume and a load balancer", func(ctx context.Context) error {
		for _, object := range []client.Object{claim, service} {
			if err := l.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
		}
		if claim.Status.Phase != corev1.ClaimBound || len(service.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("the claim is %s, the Service has %v", claim.Status.Phase, service.Status.LoadBalancer.Ingress)
		}
		return nil
	})
	l.cloud.SetRoutes(k.RouterID(), fake.Route{Destination: "100.100.1.0/24", NextHop: "10.6.0.11"})
}

// neighbors creates what other clusters have in the same project: one whose name has the same prefix, and one of the same name in
// another namespace.
func (w *world) neighbors() (check func()) {
	tag := func(cluster string) map[string]string {
		return map[string]string{"cinder.csi.openstack.org/cluster": cluster}
	}
	var volumes, balancers []string
	for _, cluster := range []string{namespace + "-web-2", "other-web", "web"} {
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
	l := w.workload()
	cluster := w.cluster("web", "", l.kubeconfig(), "web-cp", "web-worker")
	k := w.kluster("web")
	w.hooked("web-cp", "web-worker")
	l.fill(k)
	check := w.neighbors()
	// A Machine that is deleted without its Cluster is not delayed.
	worker := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, "web-worker")
	if err := w.c.Delete(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	w.eventually("the deletion of a Machine", func(ctx context.Context) error { return w.deleted(ctx, worker) })

	if err := w.c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	machine := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, "web-cp")
	killed := map[kubernikusv1.DeorbitStage]bool{}
	reported := map[string]bool{}
	described := false
	w.eventually("the deletion of the Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(k), now); client.IgnoreNotFound(err) != nil {
			return err
		}
		stage := kubernikusv1.DeorbitStage("")
		if now.Status.Deorbit != nil {
			stage = now.Status.Deorbit.Stage
		}
		switch err := w.deleted(ctx, machine); {
		case err == nil && stage != "" && !killed[kubernikusv1.DeorbitWait] && !killed[kubernikusv1.DeorbitMachines] && stage != kubernikusv1.DeorbitMachines:
			t.Errorf("the Machine is deleted in stage %s, and was never retained", stage)
		case slices.Contains([]kubernikusv1.DeorbitStage{kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes}, stage) && err != nil:
			t.Errorf("stage %s begins, and %v", stage, err)
		}
		if len(w.provider.deletions()) > 0 && stage != "" && now.HasDeorbiter() {
			t.Errorf("the provider deletes the router in stage %s", stage)
		}
		if stage != "" && !killed[stage] {
			killed[stage] = true
			if err := w.plane.Managers[0].Kill(ctx); err != nil {
				return err
			}
			if err := w.plane.Managers[0].Start(ctx, "--config="+w.config); err != nil {
				return err
			}
		}
		err := w.c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		if client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		if c := desired.ClusterOf(cluster.Object).Completed; c != nil {
			reported[c.Status] = true
			if !described {
				out, err := w.clusterctl("describe", "cluster", "web", "--show-conditions=Cluster")
				described = err == nil && strings.Contains(out, desired.ConditionCompleted)
			}
		}
		return fmt.Errorf("%w, in stage %s, %+v", err, stage, now.Status.Deorbit)
	})
	if len(killed) < 4 || !reported["False"] || !described {
		t.Errorf("the manager was killed in %v, the Cluster reported %v, clusterctl shows it: %t", killed, reported, described)
	}
	if deleted := w.provider.deletions(); !slices.Equal(deleted, []string{k.RouterID()}) {
		t.Errorf("the provider deleted routers %q", deleted)
	}
	w.eventually("the deletion of the Kluster", func(ctx context.Context) error { return w.deleted(ctx, k) })
	check()
	if w.provider.lostBastion() {
		t.Error("the bastion was deleted before its network")
	}
}

// topology creates a control plane, and returns the fields of a Cluster with a topology that has it.
func (w *world) topology(name string) string {
	w.Helper()
	w.create(w.object(`
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: StandInControlPlane
metadata: {name: %s, namespace: %s}
spec: {version: v1.36.3}
`, name, namespace))
	return `topology: {classRef: {name: class}, version: v1.36.3}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: StandInControlPlane, name: ` + name + `}`
}

// The Runtime Extension retains a Cluster with a topology, and its Machines have no hooks.
func TestRuntimeExtension(t *testing.T) {
	w := newWorld(t, ", runtimeExtension: true")
	// The webhooks and the extension have the same address and CA.
	webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.c.Get(t.Context(), client.ObjectKey{Name: "groundskeeper"}, webhooks); err != nil {
		t.Fatal(err)
	}
	clientConfig := webhooks.Webhooks[0].ClientConfig
	address := (*clientConfig.URL)[:len(*clientConfig.URL)-len("/webhooks/validate-namespace-deletion")]
	w.create(w.object(`
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {name: groundskeeper}
spec:
  clientConfig: {url: %q, caBundle: %s}
  namespaceSelector: {matchLabels: {groundskeeper.io/deorbit: "true"}}
`, address, base64.StdEncoding.EncodeToString(clientConfig.CABundle)))
	w.kubectl("wait", "--for=condition=Discovered", "--timeout=2m", "extensionconfig/groundskeeper")

	// A class without its templates: the topology controller creates nothing, and calls the hooks.
	w.create(w.object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: %s}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, name: none}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: none}}
`, namespace))
	l := w.workload()
	cluster := w.cluster("web", w.topology("web"), l.kubeconfig(), "web-cp")
	k := w.kluster("web")
	l.fill(k)
	check := w.neighbors()
	machine := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, "web-cp")
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil || machine.GetAnnotations()[desired.AnnotationHook] != "" {
		t.Errorf("%v, the Machine has annotations %v", err, machine.GetAnnotations())
	}
	if err := w.c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	retained := false
	w.eventually("the deletion of the Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(k), now); err == nil && now.Status.Deorbit != nil {
			if err := w.c.Get(ctx, client.ObjectKeyFromObject(machine), machine); err == nil && machine.GetDeletionTimestamp().IsZero() {
				retained = true
			} else if at := now.Status.Deorbit.Stage; err == nil && slices.Contains([]kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims}, at) {
				t.Errorf("the Machine is deleted in stage %s", at)
			}
		}
		return w.deleted(ctx, cluster)
	})
	if !retained {
		t.Error("the Machine was never retained")
	}
	w.eventually("the deletion of the Kluster", func(ctx context.Context) error { return w.deleted(ctx, k) })
	check()

	// A Cluster that is not selected is deleted without delay.
	other := w.cluster("other", w.topology("other"), l.kubeconfig(), "other-cp")
	w.eventually("the deselection", func(ctx context.Context) error {
		if err := w.c.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(other.Object, "false", "metadata", "labels", "groundskeeper.io/deorbit"); err != nil {
			return err
		}
		return w.c.Update(ctx, other)
	})
	if err := w.c.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.eventually("the deletion of a Cluster that is not selected", func(ctx context.Context) error { return w.deleted(ctx, other) })
}
