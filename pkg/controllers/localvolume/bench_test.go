// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// BenchmarkMemory measures what 50,000 volumes of a CSI driver on 5,000 nodes take: the objects as the cache keeps them, what is known of
// their nodes, and the record with the times of registration. A third of the nodes is missing, and none of the others is ready.
func BenchmarkMemory(b *testing.B) {
	const nodes, volumes = 5000, 50000
	for b.Loop() {
		before := heap()
		step := func(metric string) {
			now := heap()
			b.ReportMetric(float64(now-before)/(1<<20), metric)
			before = now
		}
		cached := map[string]cache.Store{}
		for _, kind := range []string{"nodes", "volumes", "claims"} {
			cached[kind] = cache.NewStore(cache.MetaNamespaceKeyFunc)
		}
		add := func(kind string, object any, err error) {
			if err == nil {
				err = cached[kind].Add(object)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		for i := range nodes {
			meta := labelled(fmt.Sprintf("worker-%04d.example.com", i), hostname, fmt.Sprintf("worker-%04d", i), nodeID, string(benchUID("node", i)))
			node := &corev1.Node{ObjectMeta: meta.ObjectMeta}
			node.UID, node.CreationTimestamp = benchUID("node", i), metav1.NewTime(noon.Add(-time.Hour))
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(noon)}}
			kept, err := trimNode(node)
			add("nodes", kept, err)
		}
		for i := range volumes {
			volume, claim := benchVolume(i, i%nodes)
			kept, err := trimVolume(volume)
			add("volumes", kept, err)
			kept, err = trimClaim(claim)
			add("claims", kept, err)
		}
		step("MiB-cache")

		config := configv1alpha1.LocalVolumeConfiguration{StorageClassNames: []string{"zfs"},
			CSIDrivers: []configv1alpha1.CSIDriver{{Name: "zfs.csi.openebs.io", TopologyKey: nodeID}}}
		configv1alpha1.SetDefaults_LocalVolumeConfiguration(&config)
		config.OutOfServiceNodes, config.StorageClassAnnotations = new(true), new(true)
		config.UnreachableNodeDelay = &metav1.Duration{Duration: time.Hour}
		inventory := NewInventory(config, testingclock.NewFakePassiveClock(noon))
		for _, node := range cached["nodes"].List() {
			inventory.SetNode(node.(metav1.Object))
		}
		for _, volume := range cached["volumes"].List() {
			inventory.SetVolume(volume.(*corev1.PersistentVolume))
		}
		inventory.MarkSynced()
		for i := range nodes / 3 {
			inventory.RemoveNode(fmt.Sprintf("worker-%04d.example.com", i))
		}
		step("MiB-inventory")

		memory := inventory.Knowledge()
		memory.Confirmed = noon
		stored := &corev1.ConfigMap{}
		data, err := recordData(memory, stored, func(since map[string]time.Time) Plan {
			var subjects []Subject
			for _, stale := range inventory.Stale() {
				subjects = append(subjects, Subject{Stale: stale, ClaimDecision: Decision{Action: Wait}, VolumeDecision: Decision{Action: Keep}})
			}
			return planOf(planInput{config: &config, subjects: subjects, since: since, now: noon})
		})
		if err != nil {
			b.Fatal(err)
		}
		stored.Data = data
		size, registered := 0, 0
		for key, value := range data {
			size += len(key) + len(value)
			if strings.HasPrefix(key, RegisteredPrefix) {
				registered++
			}
		}
		step("MiB-record")
		b.ReportMetric(float64(size)/(1<<10), "KiB-written")
		b.ReportMetric(float64(registered), "registered")
		if stale := len(inventory.Stale()); stale != nodes/3*(volumes/nodes) {
			b.Fatalf("%d volumes are stale, want those of a third of the nodes", stale)
		}
		runtime.KeepAlive(cached)
		runtime.KeepAlive(stored)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func benchUID(kind string, i int) types.UID {
	return types.UID(fmt.Sprintf("%08d-9c1d-4b7e-8f0a-%-4.4s%08d", i, kind, i))
}

// benchVolume returns a volume as a driver makes it, and its claim.
func benchVolume(i, node int) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("shop-%d", i%500), Name: fmt.Sprintf("data-db-%d", i),
		UID: benchUID("pvc", i), ResourceVersion: fmt.Sprint(1000000 + i)}}
	name := "pvc-" + string(claim.UID)
	claim.Spec.VolumeName = name
	volume := withAffinity(term(in(nodeID, string(benchUID("node", node)))))
	volume.ObjectMeta = metav1.ObjectMeta{Name: name, UID: benchUID("pv", i), ResourceVersion: fmt.Sprint(2000000 + i),
		Finalizers: []string{protectionFinalizer, provisionerFinalizer}, CreationTimestamp: metav1.NewTime(noon)}
	volume.Spec.StorageClassName = "zfs"
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	volume.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name,
		UID: claim.UID, ResourceVersion: claim.ResourceVersion}
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "zfs.csi.openebs.io", VolumeHandle: name}}
	volume.Status.Phase = corev1.VolumeBound
	return volume, claim
}
