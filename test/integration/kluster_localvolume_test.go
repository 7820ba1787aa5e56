// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// volumesOf returns a storage class and a namespace in the workload cluster.
func (d *workloads) volumesOf(t *testing.T, class string) *volumes {
	t.Helper()
	v := &volumes{t: t, c: d.w, class: class, ns: class}
	v.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.ns}})
	v.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)})
	return v
}

// TestKlusterLocalVolumes checks that the local volumes of a workload cluster are cleaned up while the Kluster enables it and the
// workload cluster can be reached.
func TestKlusterLocalVolumes(t *testing.T) {
	t.Parallel()
	d := newWorkloads(t, "localVolume: {csiDrivers: [{name: "+csiDriver+", topologyKey: "+csiNodeLabel+"}], driverGracePeriod: 2s, releaseCSIVolumes: true}")
	v, foreign := d.volumesOf(t, "local"), d.volumesOf(t, "foreign")
	nodes := map[string]*corev1.Node{}
	var claims, vols []client.Object
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		nodes[name] = v.node(name)
		volume, claim := v.bound(name, name)
		vols, claims = append(vols, volume), append(claims, claim)
	}
	driverNode := v.csiNode("driver")
	disk, diskClaim := v.bound("disk", "driver", csi)
	other, otherClaim := foreign.bound("a", "a", func(pv *corev1.PersistentVolume) {
		pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values = []string{nodes["a"].Name}
	})
	k, secret := d.enroll(t, "web", d.workload.AdminKubeconfig(), func(k *kubernikusv1.Kluster) {
		k.Spec.LocalVolumeCleanup = &kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{"local"}, PVCDeletionDelay: &metav1.Duration{Duration: delay}}
	})
	const gauge = `groundskeeper_local_volume_missing_nodes{cluster="shop/web"}`
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "True/Running")
	d.becomes(t, gauge, 0)
	since := v.lose(nodes["a"])
	v.event(claims[0], localvolume.EventScheduled)
	v.absent(claims[0], vols[0])
	if waited := time.Since(since); waited < delay {
		t.Errorf("the claim went after %s", waited)
	}
	v.stays("another class, or a node that lives", append(slices.Concat(claims[1:], vols[1:]), other, otherClaim)...)
	record := &corev1.ConfigMap{}
	if err := d.w.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: localvolume.RecordName}, record); err != nil {
		t.Error(err)
	}

	// Another Kluster of the same cluster cleans up nothing: its delay would be shorter.
	twin, _ := d.enroll(t, "twin", d.workload.AdminKubeconfig(), func(k *kubernikusv1.Kluster) {
		k.Spec.LocalVolumeCleanup = &kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{"local"}, PVCDeletionDelay: &metav1.Duration{}}
	})
	d.is(t, twin, kubernikusv1.ConditionLocalVolumeCleanup, "False/CleanedElsewhere")
	if c := meta.FindStatusCondition(twin.Status.Conditions, kubernikusv1.ConditionLocalVolumeCleanup); !strings.Contains(c.Message, "Kluster shop/web") {
		t.Errorf("message = %q, want the name of the other Kluster in it", c.Message)
	}
	d.edit(t, twin, func() { metav1.SetMetaDataAnnotation(&twin.ObjectMeta, kubernikusv1.DetachAnnotation, "true") })
	if err := errors.Join(confirm(t.Context(), d.c, twin), d.c.Delete(t.Context(), twin)); err != nil {
		t.Fatal(err)
	}
	finally(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, twin) })

	// Another kubeconfig, with too few permissions, and one with no more than it takes.
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := d.workload.KubeconfigFor(kubeconfig, "cleaner"); err != nil {
		t.Fatal(err)
	}
	d.edit(t, secret, func() { secret.Data["kubeconfig"] = d.read(t, kubeconfig) })
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "False/Forbidden")
	v.lose(nodes["b"])
	v.stays("without permissions", claims[1])
	kubeconfig = kubeconfigFor(t, d.workload, "groundskeeper-kluster", "kluster/workload/account.yaml", "kluster/workload/local-volumes.yaml", "kluster/workload/release-csi-volumes.yaml")
	d.edit(t, secret, func() { secret.Data["kubeconfig"] = d.read(t, kubeconfig) })
	finally(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.w, claims[1]) })
	v.absent(vols[1])
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "True/Running")
	if err := d.w.Delete(t.Context(), record); err != nil { // it is recreated, by a process that has cached the nodes
		t.Fatal(err)
	}

	// A CSI driver that was on the node alone never responds, and its volume is released.
	v.lose(driverNode)
	v.absent(diskClaim, disk)
	v.event(disk, localvolume.EventReleased)

	// An API server that is being deleted and comes back.
	api := d.workload.KubeAPIServer
	if err := api.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "False/Unreachable")
	if err := api.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.lose(nodes["c"])
	finally(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.w, claims[2]) })
	v.absent(vols[2])
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "True/Running")

	// Paused, nothing is deleted; what was lost meanwhile is deleted later.
	d.edit(t, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "groundskeeper.io/paused", "true") })
	d.is(t, k, kubernikusv1.ConditionLocalVolumeCleanup, "Unknown/Paused")
	d.becomes(t, gauge, -1)
	v.lose(nodes["d"])
	d.edit(t, k, func() { delete(k.Annotations, "groundskeeper.io/paused") })
	v.absent(claims[3], vols[3])

	// A Kluster that is being deleted takes the cleanup with it immediately. To tear it down requires separate permissions.
	applyArtifacts(t, d.workload, "kluster/workload/deorbit.yaml")
	for _, step := range []func() error{
		func() error { return confirm(t.Context(), d.c, k) },
		func() error { return d.c.Delete(t.Context(), k) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	d.becomes(t, gauge, -1)
	d.becomes(t, `groundskeeper_kluster_workload_sessions{purpose="local-volumes"}`, 0)
	v.stays("the cleanup ended", claims[4], vols[4], other, otherClaim)
}
