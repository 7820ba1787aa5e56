// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

import (
	"context"
	"fmt"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// Workload is the workload cluster of a Cluster.
type Workload struct {
	*World
	Plane *plane.Plane
	// Inside is an administrator of it.
	Inside client.WithWatch
}

// Workload starts a workload cluster.
func (w *World) Workload() *Workload {
	w.Helper()
	started := planetest.Start(w.T, plane.Options{KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}})
	return &Workload{World: w, Plane: started, Inside: planetest.NewClient(w.T, started.Config())}
}

// Kubeconfig returns that of an administrator.
func (l *Workload) Kubeconfig() []byte {
	l.Helper()
	content, err := os.ReadFile(l.Plane.AdminKubeconfig())
	if err != nil {
		l.Fatal(err)
	}
	return content
}

// Fill starts stand-ins of the cloud controllers, and creates a claim and a Service until both have what they need in OpenStack.
func (l *Workload) Fill(controllers standin.Config) {
	l.Helper()
	var err error
	if controllers.Kubernetes, err = kubernetes.NewForConfig(l.Plane.Config()); err != nil {
		l.Fatal(err)
	}
	started, err := standin.Start(context.WithoutCancel(l.Context()), controllers)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(started.Stop)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("cinder"),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	for _, object := range []client.Object{
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "cinder"}, Provisioner: standin.Driver, VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}, claim, service,
	} {
		if err := l.Inside.Create(l.Context(), object); err != nil {
			l.Fatal(err)
		}
	}
	l.Eventually("a volume and a load balancer", func(ctx context.Context) error {
		for _, object := range []client.Object{claim, service} {
			if err := l.Inside.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
		}
		if claim.Status.Phase != corev1.ClaimBound || len(service.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("the claim is %s, the Service has %v", claim.Status.Phase, service.Status.LoadBalancer.Ingress)
		}
		return nil
	})
}

// Join registers the server of a Machine as a node of its cluster, with a range of addresses for its pods, and waits until Cluster API has
// noticed. It returns the id of the server.
func (l *Workload) Join(cluster *unstructured.Unstructured, machine, pods string) (server string) {
	l.Helper()
	m := NewMachine(machine)
	const scheme = "openstack:///"
	l.Eventually("the node of the Machine", func(ctx context.Context) error {
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
		addresses, _, _ := unstructured.NestedSlice(m.Object, "status", "addresses")
		if id == "" || len(addresses) == 0 {
			return fmt.Errorf("the Machine has no server: %v", m.Object["status"])
		}
		server = id[len(scheme):]
		address, _ := addresses[0].(map[string]any)["address"].(string)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine}, Spec: corev1.NodeSpec{ProviderID: id, PodCIDR: pods, PodCIDRs: []string{pods}}}
		if err := l.Inside.Create(ctx, node); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := l.Inside.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: machine}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		return l.Inside.Status().Update(ctx, node)
	})
	l.Eventually("Cluster API with the node of the Machine", func(ctx context.Context) error {
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		node, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name")
		conditions, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
		if node == "" || !slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return condition["type"] == "ControlPlaneInitialized" && condition["status"] == "True"
		}) {
			return fmt.Errorf("the Machine has %v, the Cluster %v", m.Object["status"], conditions)
		}
		return nil
	})
	return server
}
