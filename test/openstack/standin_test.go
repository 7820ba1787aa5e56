// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
)

// workload is a workload cluster whose controllers of the cloud are a stand-in.
type workload struct {
	*api
	*standin.Standin
	cluster kubernetes.Interface
	dynamic dynamic.Interface
}

// newWorkload starts a cluster in a dedicated project.
func newWorkload(t *testing.T, clusterName, clusterID string) *workload {
	t.Helper()
	w := &workload{api: newProject(t)}
	_, subnet, router := w.network()
	public := w.gateway(router)
	started, err := plane.Start(t.Context(), plane.Options{Dir: t.TempDir(), UnsafeNoFsync: true,
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if w.cluster, err = kubernetes.NewForConfig(started.Config()); err != nil {
		t.Fatal(err)
	}
	if w.dynamic, err = dynamic.NewForConfig(started.Config()); err != nil {
		t.Fatal(err)
	}
	for _, definition := range standin.SnapshotCRDs() {
		w.create(standin.CRDs, definition)
	}
	eventually(t, "snapshots are served", func() bool {
		served, err := w.cluster.Discovery().ServerResourcesForGroupVersion(snapshotGroup.String())
		return err == nil && len(served.APIResources) >= 3
	})
	w.Standin, err = standin.Start(context.Background(), standin.Config{
		Kubernetes: w.cluster, Dynamic: w.dynamic, Cloud: standin.Credentials{AuthURL: w.authURL, User: w.user, Password: w.password, Project: w.project},
		ClusterName: clusterName, ClusterID: clusterID, SubnetID: subnet, FloatingNetworkID: public, Log: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

var snapshotGroup = schema.GroupVersion{Group: "snapshot.storage.k8s.io", Version: "v1"}

func (w *workload) create(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := w.dynamic.Resource(resource).Namespace(object.GetNamespace()).Create(w.t.Context(), object, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// class makes a class of volumes of Cinder.
func (w *workload) class(name string, policy corev1.PersistentVolumeReclaimPolicy) {
	w.t.Helper()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: standin.Driver, ReclaimPolicy: &policy}
	if _, err := w.cluster.StorageV1().StorageClasses().Create(w.t.Context(), class, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// claim makes a claim, and waits until it is bound. It returns the id of its volume in Cinder.
func (w *workload) claim(name, class string) string {
	w.t.Helper()
	claims := w.cluster.CoreV1().PersistentVolumeClaims("default")
	_, err := claims.Create(w.t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	id := ""
	eventually(w.t, "claim "+name+" is bound", func() bool {
		claim, err := claims.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil || claim.Status.Phase != corev1.ClaimBound {
			return false
		}
		volume, err := w.cluster.CoreV1().PersistentVolumes().Get(w.t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
		if err == nil {
			id = volume.Spec.CSI.VolumeHandle
		}
		return err == nil
	})
	return id
}

// TestStandin makes what a cluster has in OpenStack, and lets the cluster delete it again.
func TestStandin(t *testing.T) {
	needTestbed(t)
	w := newWorkload(t, "web", "shop-web")
	ctx, client := t.Context(), w.client(options())
	services := w.cluster.CoreV1().Services("default")
	_, err := services.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.class("cinder", corev1.PersistentVolumeReclaimDelete)
	w.class("kept", corev1.PersistentVolumeReclaimRetain)
	doomed, kept := w.claim("data", "cinder"), w.claim("archive", "kept")
	class := &unstructured.Unstructured{Object: map[string]any{"driver": standin.Driver, "deletionPolicy": "Delete"}}
	class.SetGroupVersionKind(snapshotGroup.WithKind("VolumeSnapshotClass"))
	class.SetName("cinder")
	w.create(snapshotGroup.WithResource("volumesnapshotclasses"), class)
	snapshot := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"volumeSnapshotClassName": "cinder",
		"source": map[string]any{"persistentVolumeClaimName": "data"}}}}
	snapshot.SetGroupVersionKind(snapshotGroup.WithKind("VolumeSnapshot"))
	snapshot.SetNamespace("default")
	snapshot.SetName("backup")
	taken := snapshotGroup.WithResource("volumesnapshots")
	w.create(taken, snapshot)
	eventually(t, "the Service has an address", func() bool {
		s, err := services.Get(ctx, "front", metav1.GetOptions{})
		return err == nil && len(s.Status.LoadBalancer.Ingress) == 1
	})
	eventually(t, "the snapshot is ready", func() bool {
		got, err := w.dynamic.Resource(taken).Namespace("default").Get(ctx, "backup", metav1.GetOptions{})
		if err != nil {
			return false
		}
		ready, _, _ := unstructured.NestedBool(got.Object, "status", "readyToUse")
		return ready
	})

	balancers, err := client.LoadBalancing().LoadBalancers(ctx)
	if err != nil || len(balancers) != 1 || balancers[0].Name != "kube_service_web_default_front" || !strings.HasSuffix(balancers[0].Description, " from cluster web") {
		t.Errorf("load balancers %+v, %v", balancers, err)
	}
	floating, err := client.Network().ProjectFloatingIPs(ctx)
	if err != nil || len(floating) != 1 || floating[0].Description != "Floating IP for Kubernetes external service default/front from cluster web" {
		t.Errorf("floating IPs %+v, %v", floating, err)
	}
	groups, err := ids(client.Network().SecurityGroups(ctx))
	if err != nil || len(groups) < 2 {
		t.Errorf("security groups %v, %v", groups, err)
	}
	volumes, err := client.BlockStorage().Volumes(ctx)
	if err != nil || len(volumes) != 2 {
		t.Errorf("volumes %+v, %v", volumes, err)
	}
	for _, v := range volumes {
		if v.Metadata[standin.MetadataCluster] != "shop-web" {
			t.Errorf("volume %+v", v)
		}
	}

	// The volume cannot go before its snapshot, and is tried again.
	for _, err := range []error{
		services.Delete(ctx, "front", metav1.DeleteOptions{}),
		w.cluster.CoreV1().PersistentVolumeClaims("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		w.dynamic.Resource(taken).Namespace("default").Delete(ctx, "backup", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the Service has been deleted", func() bool {
		_, err := services.Get(ctx, "front", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.deleted("block-storage/volumes/" + doomed)
	eventually(t, "the other PersistentVolume is the last", func() bool {
		left, err := w.cluster.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 1 && left.Items[0].Status.Phase == corev1.VolumeReleased
	})
	left, err := client.BlockStorage().Volumes(ctx)
	if err != nil || len(left) != 1 || left[0].ID != kept || left[0].Status != "available" {
		t.Errorf("volumes left: %+v, %v", left, err)
	}
	snapshots, err := client.BlockStorage().Snapshots(ctx)
	if err != nil || len(snapshots) != 0 {
		t.Errorf("snapshots left: %+v, %v", snapshots, err)
	}
	for what, list := range map[string]func() ([]string, error){
		"load balancers": func() ([]string, error) { return ids(client.LoadBalancing().LoadBalancers(ctx)) },
		"floating IPs":   func() ([]string, error) { return ids(client.Network().ProjectFloatingIPs(ctx)) },
	} {
		if found, err := list(); err != nil || len(found) != 0 {
			t.Errorf("%s left: %v, %v", what, found, err)
		}
	}
	if found, err := client.Network().SecurityGroups(ctx); err != nil || len(found) != len(groups)-1 {
		t.Errorf("security groups left: %+v, %v", found, err)
	}
	if err := client.BlockStorage().DeleteVolume(ctx, kept); err != nil {
		t.Error(err)
	}
	w.deleted("block-storage/volumes/" + kept)
}
