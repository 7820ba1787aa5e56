// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/support/capitest"
)

const kubeconfigOfNoServer = `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`

// Cluster API is upgraded from v1beta1 to v1beta2, as clusterctl does: its controllers stop, its definitions are replaced, when nothing
// converts the stored objects, and new controllers start, which store them in the new version. The Clusters keep what retains them, nothing
// is deleted, and a deletion that is over is not begun again.
func TestStoredVersions(t *testing.T) {
	w := newWorld(t, "")
	w.Serve("v1beta1", "v1beta1", "v1beta2")
	l := w.Workload()
	web := w.Cluster(capitest.Namespace, "web", "", l.Kubeconfig(), "web-cp")
	over := w.Cluster(capitest.Namespace, "over", "", []byte(kubeconfigOfNoServer))
	k, deorbited := w.Kluster(capitest.Namespace, "web"), w.Kluster(capitest.Namespace, "over")
	w.Hooked("web-cp")
	w.fill(l, k)
	check := w.neighbors()
	// The floating IP of the other Cluster's bastion ends with that.
	resources := func() string {
		return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", w.cloud.Volumes(project), w.cloud.LoadBalancers(project), w.cloud.SecurityGroups(project), w.cloud.Routes(k.RouterID()))
	}
	before := resources()
	// kept checks that nothing of the Cluster web is deleted, and that the Kluster of the other one is not created again.
	kept := func() {
		t.Helper()
		now := &kubernikusv1.Kluster{}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(k), now); err != nil || now.UID != k.UID || !now.DeletionTimestamp.IsZero() || now.Detached() {
			t.Errorf("%v: Kluster %+v", err, now.ObjectMeta)
		}
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(deorbited), now); !apierrors.IsNotFound(err) {
			t.Errorf("%v: the Kluster of the other Cluster exists, created at %s", err, now.CreationTimestamp)
		}
		if after := resources(); after != before {
			t.Errorf("in OpenStack are\n%s\nand before were\n%s", after, before)
		}
	}

	// The controllers of Cluster API stop, and its version v1beta1 is the only one.
	w.StopClusterAPI()
	w.Serve("v1beta1", "v1beta1")
	if err := w.Client.Delete(t.Context(), capitest.NewObject("cluster.x-k8s.io/v1beta1", "Cluster", capitest.Namespace, "over")); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the end of a Deorbit", func(ctx context.Context) error {
		cluster := capitest.NewObject("cluster.x-k8s.io/v1beta1", "Cluster", capitest.Namespace, "over")
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if c := desired.ClusterOf(cluster.Object).Completed; c == nil || c.Status != "True" {
			return fmt.Errorf("the Cluster reports %+v", c)
		}
		return w.Deleted(ctx, deorbited.DeepCopy())
	})
	kept()

	// Both versions are served, and nothing converts.
	w.Serve("v1beta2", "v1beta1", "v1beta2")
	w.Logged(w.Plane.Managers[0].LogFile(), "conversion webhook for cluster.x-k8s.io/v1beta1")
	kept()
	if err := w.KillManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the report of the new controller manager", func(context.Context) error {
		if lines := w.Plane.Managers[0].Tail(1000); !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "conversion webhook for") }) {
			return fmt.Errorf("it says %q", lines)
		}
		return nil
	})
	kept()

	w.StartClusterAPI()
	w.Eventually("the migration of the stored objects", func(ctx context.Context) error {
		for _, name := range capitest.Versioned {
			definition := capitest.NewObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			if stored, _, _ := unstructured.NestedStringSlice(definition.Object, "status", "storedVersions"); !slices.Equal(stored, []string{"v1beta2"}) {
				return fmt.Errorf("%s has %q", name, stored)
			}
		}
		return nil
	})
	w.Eventually("the deletion of the Cluster", func(ctx context.Context) error { return w.Deleted(ctx, over) })
	kept()
	if slices.ContainsFunc(w.Plane.Managers[0].Tail(10000), func(line string) bool { return strings.Contains(line, "KlusterCreated") }) {
		t.Error("a Kluster was created after the upgrade")
	}
	w.Serve("v1beta2", "v1beta2")
	infrastructure := capitest.NewObject("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", capitest.Namespace, "web")
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(infrastructure), infrastructure); err != nil || !slices.Contains(infrastructure.GetFinalizers(), desired.Finalizer) {
		t.Errorf("%v: the OpenStackCluster has finalizers %v", err, infrastructure.GetFinalizers())
	}
	w.Hooked("web-cp")
	w.Delete(web, k, "web-cp", func(*unstructured.Unstructured) {})
	check()
	if w.Provider.LostBastion() {
		t.Error("a bastion was deleted before its network")
	}
}
