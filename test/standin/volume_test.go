// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cloudfake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestClaim(t *testing.T) {
	w := newWorld(t, class("cinder", Driver), claim("data", "cinder"))
	v := w.provisioned("data")
	made := w.cloud.Volumes("demo")
	if len(made) != 1 {
		t.Fatalf("volumes %+v", made)
	}
	if made[0].Name != "pvc-uid-data" || made[0].Size != 2 || made[0].Metadata[MetadataCluster] != "shop-k" || v.Spec.CSI.VolumeHandle != made[0].ID || v.Spec.CSI.Driver != Driver {
		t.Errorf("volume %+v of %+v", made[0], v.Spec)
	}
	if v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || !slices.Equal(v.Finalizers, []string{FinalizerVolume}) ||
		v.Annotations[annotationProvisionedBy] != Driver || v.Spec.ClaimRef.UID != "uid-data" {
		t.Errorf("PersistentVolume %+v", v)
	}
	w.released(v)
	eventually(t, "the PersistentVolume has been deleted", func() bool {
		_, err := w.cluster.CoreV1().PersistentVolumes().Get(t.Context(), v.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if left := w.cloud.Volumes("demo"); len(left) != 0 && left[0].Status != "deleting" {
		t.Errorf("left %+v", left)
	}
}

func TestVolumesThatStay(t *testing.T) {
	retain := class("kept", Driver, func(c *storagev1.StorageClass) { c.ReclaimPolicy = new(corev1.PersistentVolumeReclaimRetain) })
	w := newWorld(t, retain, class("cinder", Driver), claim("kept", "kept"), claim("used", "cinder"))
	kept, used := w.provisioned("kept"), w.provisioned("used")
	if len(kept.Finalizers) != 0 {
		t.Errorf("of policy Retain: %+v", kept)
	}
	// A snapshot of it lets Cinder reject the deletion.
	snapshot := w.cloud.AddSnapshot("demo", cloudfake.Snapshot{VolumeID: used.Spec.CSI.VolumeHandle})
	w.released(kept)
	w.released(used)
	eventually(t, "a deletion was tried", func() bool { return len(w.deletions()) > 0 })
	if n := len(w.cloud.Volumes("demo")); n != 2 {
		t.Errorf("%d volumes, want both", n)
	}
	w.cloud.RemoveSnapshot(snapshot)
	eventually(t, "the other one is deleted", func() bool { return len(w.cloud.Volumes("demo")) == 1 })
	if left := w.cloud.Volumes("demo"); left[0].ID != kept.Spec.CSI.VolumeHandle {
		t.Errorf("left %+v", left)
	}
}

func TestClaimsOfOthers(t *testing.T) {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	w := newWorld(t, class("foreign", "ebs.csi.aws.com"), class("late", Driver, func(c *storagev1.StorageClass) { c.VolumeBindingMode = &late }),
		class("cinder", Driver), claim("foreign", "foreign"), claim("bound", "cinder", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "by-hand" }),
		claim("going", "cinder", func(c *corev1.PersistentVolumeClaim) { end(c) }), claim("waits", "late"), claim("unknown", "missing"),
		claim("starts", "late", func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{annotationSelectedNode: "node-a"}
		}))
	w.provisioned("starts")
	if n := len(w.cloud.Volumes("demo")); n != 1 {
		t.Errorf("%d volumes, want one", n)
	}
	if _, err := w.cluster.StorageV1().StorageClasses().Create(t.Context(), class("missing", Driver), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.provisioned("unknown")
	if n := len(w.cloud.Volumes("demo")); n != 2 {
		t.Errorf("%d volumes, want two", n)
	}
}

func TestVolumeThatFails(t *testing.T) {
	w := newWorld(t, class("cinder", Driver))
	failed := w.cloud.AddVolume("demo", cloudfake.Volume{Name: "pvc-uid-data", Status: "error"})
	if _, err := w.cluster.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim("data", "cinder"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if v := w.provisioned("data"); v.Spec.CSI.VolumeHandle == failed {
		t.Error("it uses a volume that failed")
	}
}

func TestVolumesOfOthers(t *testing.T) {
	made := func(name, provisioner string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisionedBy: provisioner}},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name}}}}
	}
	w := newWorld(t, made("by-hand", ""), made("provisioned", Driver))
	for _, name := range []string{"by-hand", "provisioned"} {
		v, err := w.cluster.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.released(v)
	}
	w.instructed("deleted volume provisioned")
	if got := w.deletions(); len(got) != 1 {
		t.Errorf("deleted %q", got)
	}
}

func TestSnapshots(t *testing.T) {
	c := claim("data", "cinder")
	w := newWorld(t, class("cinder", Driver), c)
	create := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		resource := snapshotClasses
		if o.GetKind() == string(Snapshots) {
			resource = snapshots
		}
		created, err := w.dynamic.Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	create(object("VolumeSnapshotClass", "", "deletes", map[string]any{"driver": Driver, "deletionPolicy": "Delete"}))
	create(object("VolumeSnapshotClass", "", "keeps", map[string]any{"driver": Driver, "deletionPolicy": "Retain"}))
	create(object("VolumeSnapshotClass", "", "foreign", map[string]any{"driver": "ebs.csi.aws.com", "deletionPolicy": "Delete"}))
	for _, class := range []string{"deletes", "keeps", "foreign"} {
		create(object("VolumeSnapshot", "default", class, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": class,
			"source": map[string]any{"persistentVolumeClaimName": "data"}}}))
	}
	get := func(name string) *unstructured.Unstructured {
		t.Helper()
		o, err := w.dynamic.Resource(snapshots).Namespace("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	v := w.provisioned("data")
	w.bind(c) // before that there is nothing to take a snapshot of
	for _, name := range []string{"deletes", "keeps"} {
		eventually(t, name+" is ready", func() bool {
			return text(get(name), "status", "boundVolumeSnapshotContentName") == "snapcontent-uid-"+name
		})
	}
	taken := w.cloud.Snapshots("demo")
	if len(taken) != 2 {
		t.Fatalf("snapshots %+v", taken)
	}
	for _, s := range taken {
		if s.VolumeID != v.Spec.CSI.VolumeHandle || s.Metadata[MetadataCluster] != "shop-k" {
			t.Errorf("snapshot %+v", s)
		}
	}
	if got := get("deletes").GetFinalizers(); !slices.Equal(got, []string{FinalizerSnapshot, FinalizerSnapshotSource}) || len(get("foreign").GetFinalizers()) != 0 {
		t.Errorf("finalizers %q", got)
	}
	for _, name := range []string{"deletes", "keeps"} {
		o := get(name)
		end(o)
		if _, err := w.dynamic.Resource(snapshots).Namespace("default").Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" may go", func() bool { return len(get(name).GetFinalizers()) == 0 })
	}
	kept, err := w.dynamic.Resource(contents).Get(t.Context(), "snapcontent-uid-keeps", metav1.GetOptions{})
	if err != nil || text(kept, "status", "snapshotHandle") == "" {
		t.Errorf("the content of policy Retain: %v, %v", kept, err)
	} // Deleted automatically, contents take their snapshot with them or not; the fake of Kubernetes knows no finalizers.
	doomed := kept.DeepCopy()
	doomed.SetName("doomed")
	for _, o := range []*unstructured.Unstructured{kept, doomed} {
		end(o)
	}
	doomed.Object["spec"].(map[string]any)["deletionPolicy"] = "Delete"
	doomed.Object["status"].(map[string]any)["snapshotHandle"] = taken[0].ID
	if text(kept, "status", "snapshotHandle") == taken[0].ID {
		doomed.Object["status"].(map[string]any)["snapshotHandle"] = taken[1].ID
	}
	for _, err := range []error{
		second(w.dynamic.Resource(contents).Update(t.Context(), kept, metav1.UpdateOptions{})),
		second(w.dynamic.Resource(contents).Create(t.Context(), doomed, metav1.CreateOptions{})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{kept.GetName(), doomed.GetName()} {
		eventually(t, name+" may go", func() bool {
			o, err := w.dynamic.Resource(contents).Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && len(o.GetFinalizers()) == 0
		})
	}
	if got := slices.Compact(w.deletions()); len(got) != 1 || !strings.HasSuffix(got[0], "/"+text(doomed, "status", "snapshotHandle")) {
		t.Errorf("deleted %q", got)
	}
}
