// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/plane"
)

// join registers the server of a Machine as a node of its cluster, and waits until Cluster API has noticed.
func (l *workload) join(cluster *unstructured.Unstructured, machine string) {
	l.Helper()
	m := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, machine)
	l.eventually("the server of the Machine", func(ctx context.Context) error {
		if err := l.world.c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
		if id == "" {
			return fmt.Errorf("the Machine has no server: %v", m.Object["status"])
		}
		return client.IgnoreAlreadyExists(l.c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine}, Spec: corev1.NodeSpec{ProviderID: id}}))
	})
	l.eventually("the node of the Machine", func(ctx context.Context) error {
		if err := l.world.c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		if err := l.world.c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
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
}

// resources returns everything in OpenStack that a Deorbit could delete.
func (w *world) resources(router string) string {
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%+v", w.cloud.Volumes(project), w.cloud.LoadBalancers(project), w.cloud.FloatingIPs(project), w.cloud.SecurityGroups(project), w.cloud.Routes(router))
}

// clusterctl moves a Cluster to another management cluster: nothing of it is deleted, and its Kluster is there instead of here.
func TestMove(t *testing.T) {
	w := newWorld(t, "")
	target := w.start(management())
	there := w.install(target)
	l := w.workload()
	cluster := w.cluster("web", "", l.kubeconfig(), "web-cp")
	k := w.kluster("web")
	w.hooked("web-cp")
	w.kubectl("label", "machines.cluster.x-k8s.io", "--namespace="+namespace, "web-cp", "cluster.x-k8s.io/control-plane=")
	l.join(cluster, "web-cp")
	l.fill(k)
	// clusterctl init would have labeled the kinds.
	for _, p := range []*plane.Plane{w.plane, target} {
		w.kubectlOn(p, "label", "customresourcedefinitions", "--all", "clusterctl.cluster.x-k8s.io=")
	}
	before := w.resources(k.RouterID())
	if out, err := w.clusterctl("move", "--to-kubeconfig="+target.AdminKubeconfig()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, object := range []client.Object{k, cluster, newObject("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", namespace, "web"), newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, "web-cp"),
		newObject("v1", "Secret", namespace, "web-cloud-config"), newObject("v1", "Secret", namespace, "web-kubeconfig")} {
		w.eventually("the deletion of what was moved", func(ctx context.Context) error { return w.deleted(ctx, object) })
	}

	// The provider determines the network again, with which the Kluster is registered.
	infrastructure := newObject("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", namespace, "web")
	w.eventually("the status of the moved OpenStackCluster", func(ctx context.Context) error {
		if err := there.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure); err != nil {
			return err
		}
		infrastructure.Object["status"] = map[string]any{
			"ready": true, "network": map[string]any{"id": k.Spec.Openstack.NetworkID, "subnets": []any{}}, "router": map[string]any{"id": k.RouterID()},
		}
		return there.Status().Update(ctx, infrastructure)
	})
	moved := newObject("cluster.x-k8s.io/v1beta2", "Cluster", namespace, "web")
	if err := there.Get(t.Context(), client.ObjectKeyFromObject(moved), moved); err != nil {
		t.Fatal(err)
	}
	w.eventually("the Kluster of the moved Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := there.Get(ctx, client.ObjectKeyFromObject(k), now); err != nil {
			return err
		}
		if desired.UIDOf(now) != moved.GetUID() || !now.DeletionTimestamp.IsZero() || now.Detached() || now.RouterID() != k.RouterID() || now.ClusterName() != k.ClusterName() {
			return fmt.Errorf("Kluster %+v, Cluster %s", now, moved.GetUID())
		}
		machine := newObject("cluster.x-k8s.io/v1beta2", "Machine", namespace, "web-cp")
		if err := there.Get(ctx, client.ObjectKeyFromObject(machine), machine); err != nil {
			return err
		}
		if _, held := machine.GetAnnotations()[desired.AnnotationHook]; !held {
			return fmt.Errorf("the Machine has annotations %v", machine.GetAnnotations())
		}
		if err := there.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure); err != nil {
			return err
		}
		if !slices.Contains(infrastructure.GetFinalizers(), desired.Finalizer) || infrastructure.GetAnnotations()[desired.AnnotationPaused] != "" {
			return fmt.Errorf("the OpenStackCluster has %v, %v", infrastructure.GetFinalizers(), infrastructure.GetAnnotations())
		}
		return nil
	})
	if after := w.resources(k.RouterID()); after != before {
		t.Errorf("in OpenStack are\n%s\nand before were\n%s", after, before)
	}
	if deleted := w.provider.deletions(); len(deleted) > 0 {
		t.Errorf("the provider deleted routers %q", deleted)
	}
}
