// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/capitest"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// resources returns everything in OpenStack that a Deorbit could delete.
func (w *world) resources(router string) string {
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%+v", w.cloud.Volumes(project), w.cloud.LoadBalancers(project), w.cloud.FloatingIPs(project), w.cloud.SecurityGroups(project), w.cloud.Routes(router))
}

// clusterctl moves a Cluster to another management cluster: nothing of it is deleted, and its Kluster is there instead of here.
func TestMove(t *testing.T) {
	w := newWorld(t, "")
	target := planetest.Start(t, capitest.Management())
	there := planetest.NewClient(t, target.Config())
	w.Install(target, there)
	l := w.Workload()
	cluster := w.Cluster(capitest.Namespace, "web", "", l.Kubeconfig(), "web-cp")
	k := w.Kluster(capitest.Namespace, "web")
	w.Hooked("web-cp")
	w.Kubectl("", "label", "machines.cluster.x-k8s.io", "--namespace="+capitest.Namespace, "web-cp", "cluster.x-k8s.io/control-plane=")
	l.Join(cluster, "web-cp", "100.100.1.0/24")
	w.fill(l, k)
	// clusterctl init would have labeled the kinds.
	for _, p := range []*plane.Plane{w.Plane, target} {
		planetest.Kubectl(t, p, "", "label", "customresourcedefinitions", "--all", "clusterctl.cluster.x-k8s.io=")
	}
	before := w.resources(k.RouterID())
	if out, err := w.Clusterctl("move", "--to-kubeconfig="+target.AdminKubeconfig()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, object := range []client.Object{k, cluster, capitest.NewObject("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", capitest.Namespace, "web"), capitest.NewMachine("web-cp"),
		capitest.NewObject("v1", "Secret", capitest.Namespace, "web-cloud-config"), capitest.NewObject("v1", "Secret", capitest.Namespace, "web-kubeconfig")} {
		w.Eventually("the deletion of what was moved", func(ctx context.Context) error { return w.Deleted(ctx, object) })
	}

	// The provider determines the network again, with which the Kluster is registered.
	infrastructure := capitest.NewObject("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", capitest.Namespace, "web")
	w.Eventually("the status of the moved OpenStackCluster", func(ctx context.Context) error {
		if err := there.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure); err != nil {
			return err
		}
		infrastructure.Object["status"] = map[string]any{
			"ready": true, "network": map[string]any{"id": k.Spec.Openstack.NetworkID, "subnets": []any{}}, "router": map[string]any{"id": k.RouterID()},
		}
		return there.Status().Update(ctx, infrastructure)
	})
	moved := capitest.NewObject("cluster.x-k8s.io/v1beta2", "Cluster", capitest.Namespace, "web")
	if err := there.Get(t.Context(), client.ObjectKeyFromObject(moved), moved); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the Kluster of the moved Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := there.Get(ctx, client.ObjectKeyFromObject(k), now); err != nil {
			return err
		}
		if desired.UIDOf(now) != moved.GetUID() || !now.DeletionTimestamp.IsZero() || now.Detached() || now.RouterID() != k.RouterID() || now.ClusterName() != k.ClusterName() {
			return fmt.Errorf("Kluster %+v, Cluster %s", now, moved.GetUID())
		}
		machine := capitest.NewMachine("web-cp")
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
	if deleted := w.Provider.Deletions(); len(deleted) > 0 {
		t.Errorf("the provider deleted routers %q", deleted)
	}
}
