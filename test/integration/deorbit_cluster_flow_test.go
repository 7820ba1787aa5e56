// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDeorbitCluster runs the stages of Deorbit inside a workload cluster, against a real API server with its own controllers. The
// flows share a cluster and run serially. Resources of other drivers exist all the time, and must not be changed.
func TestDeorbitCluster(t *testing.T) {
	t.Parallel()
	p := newWorkloadPlane(t)
	o := newOrbit(t, p)
	o.space("foreign")
	o.class("fast", cinderDriver)
	o.class("foreign", foreignDriver)
	others, othersClaim := o.bound("foreign", "others", foreignDriver, corev1.PersistentVolumeReclaimDelete)
	waits := pending("foreign", "waits", "foreign")
	o.create(waits)
	o.node("ready", corev1.ConditionTrue)
	o.node("broken", corev1.ConditionUnknown)
	othersPod := o.pod("foreign", "others", "broken", "others")
	othersService := balancer("foreign", "others", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/lb") })
	o.create(othersService)
	foreign := []client.Object{others, othersClaim, waits, othersPod, othersService}

	for _, flow := range []struct {
		name string
		run  func(*testing.T, *orbit)
	}{
		{"claims", testDeorbitClaims}, {"retained volumes", testDeorbitRetainedVolumes}, {"snapshots", testDeorbitSnapshots}, {"permissions", testDeorbitPermissions}, {"services", testDeorbitServices},
		{"webhooks", testDeorbitWebhooks}, {"kills", testDeorbitKills}, {"refusals", testDeorbitRejections}, {"freeze", testDeorbitFreeze}, {"freeze by webhooks", testDeorbitFreezeByWebhooks},
	} {
		t.Run(flow.name, func(t *testing.T) {
			flow.run(t, newOrbit(t, p))
			o.t = t
			o.stays(foreign...)
		})
	}
}

func testDeorbitClaims(t *testing.T, o *orbit) {
	const ns = "claims"
	o.space(ns)
	volume, claim := o.bound(ns, "data", cinderDriver, corev1.PersistentVolumeReclaimDelete)
	old, oldClaim := o.bound(ns, "old", "kubernetes.io/cinder", corev1.PersistentVolumeReclaimDelete)
	kept, keptClaim := o.bound(ns, "kept", cinderDriver, corev1.PersistentVolumeReclaimRetain)
	failing, failingClaim := o.bound(ns, "failing", cinderDriver, corev1.PersistentVolumeReclaimDelete)
	waiting := pending(ns, "waiting", "fast")
	o.create(waiting)
	up := o.pod(ns, "up", "ready", "data")
	lost := o.pod(ns, "lost", "gone", "data")
	stuck := o.pod(ns, "stuck", "broken", "old")
	never := o.pod(ns, "never", "", "data")
	mirror := o.pod(ns, "mirror", "broken", "data", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	unrelated := o.pod(ns, "unrelated", "ready", "nothing")
	temporary := o.pod(ns, "temporary", "ready", "", func(p *corev1.Pod) {
		claim := pending("", "", "fast")
		p.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim.Spec}}}}}
	})
	own := pending(ns, "temporary-tmp", "fast")
	eventually(t, func(ctx context.Context) error { return o.c.Get(ctx, client.ObjectKeyFromObject(own), own) })

	// The first check records, and deletes only what has no volume.
	report := o.must(kubernikusv1.DeorbitPods)
	if len(report.Seen.Volumes) != 4 || len(report.Remaining) != 6 {
		t.Fatalf("%+v", report)
	}
	o.stays(claim, oldClaim, keptClaim, failingClaim, up, lost, stuck)
	o.absent(waiting)

	// Pods on nodes that work are their kubelets'; of the others, no other client ends what has had its time.
	o.removes(kubernikusv1.DeorbitPods, lost, stuck, never)
	for _, name := range []string{"up", "temporary"} {
		o.remains(kubernikusv1.DeorbitPods, "Pod", name, "on node ready: it is being deleted since")
	}
	o.remains(kubernikusv1.DeorbitPods, "Pod", "mirror", "remove its manifest from node broken")
	o.stays(mirror)
	o.end(mirror)
	// The owner of a pod makes it again: it is not scheduled, and blocks nothing.
	o.end(up)
	o.end(temporary)
	o.absent(up)
	again := o.pod(ns, "up", "", "data")
	o.finish(kubernikusv1.DeorbitPods)
	if !strings.Contains(fmt.Sprint(o.finish(kubernikusv1.DeorbitClaims).Retained), "kept") {
		t.Error("the volume that is kept is not listed")
	}
	o.absent(claim, oldClaim, keptClaim, failingClaim, own)
	o.stays(again, unrelated)

	// The volumes go when their provisioner is done with them. One that Kubernetes cannot delete is not waited for.
	o.remains(kubernikusv1.DeorbitWait, "PersistentVolume", "data", "its claim was claims/data")
	o.reclaim(volume, old)
	o.remains(kubernikusv1.DeorbitWait, "PersistentVolume", "failing", "it is Released")
	if err := o.c.Status().Patch(t.Context(), failing, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Failed"}}`))); err != nil {
		t.Fatal(err)
	}
	report = o.finish(kubernikusv1.DeorbitWait)
	o.absent(volume, old)
	o.stays(kept, failing)
	if !slices.ContainsFunc(report.Retained, func(r kubernikusv1.DeorbitObject) bool { return r.Name == "kept" && r.ID == "kept" }) {
		t.Errorf("%+v", report.Retained)
	}
	policies := map[string]string{}
	for _, v := range o.seen.Volumes {
		policies[v.ID] = v.ReclaimPolicy
	}
	if fmt.Sprint(policies) != "map[data:Delete failing:Delete kept:Retain old:Delete]" {
		t.Errorf("%v", policies)
	}
	o.end(again)
	o.end(unrelated)
	for _, pv := range []client.Object{kept, failing} {
		if err := o.c.Delete(t.Context(), pv); err != nil {
			t.Fatal(err)
		}
	}
	o.absent(kept, failing)
}

// testDeorbitRetainedVolumes checks that, with the policy Retain, nothing is deleted and everything is recorded.
func testDeorbitRetainedVolumes(t *testing.T, o *orbit) {
	o.space("retained")
	volume, claim := o.bound("retained", "retained", cinderDriver, corev1.PersistentVolumeReclaimDelete)
	pod := o.pod("retained", "user", "broken", "retained")
	o.policies.PersistentVolumes = kubernikusv1.DeletionPolicyRetain
	for _, s := range []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots, kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitWait} {
		report := o.finish(s)
		retained := slices.ContainsFunc(report.Retained, func(r kubernikusv1.DeorbitObject) bool { return r.ID == "retained" })
		if s != kubernikusv1.DeorbitSnapshots && (!retained || len(report.Seen.Volumes) == 0) {
			t.Errorf("%s: %+v", s, report)
		}
	}
	o.stays(volume, claim, pod)
	o.end(pod)
	o.policies.PersistentVolumes = kubernikusv1.DeletionPolicyDelete
	o.finish(kubernikusv1.DeorbitClaims)
	o.reclaim(volume)
	o.absent(volume)
}

func testDeorbitSnapshots(t *testing.T, o *orbit) {
	o.space("snaps")
	if report := o.finish(kubernikusv1.DeorbitSnapshots); len(report.Seen.Snapshots) > 0 {
		t.Errorf("without the API: %+v", report)
	}
	o.snapshotAPI()
	class := func(name, driver string) *unstructured.Unstructured {
		return custom("VolumeSnapshotClass", "", name, map[string]any{"driver": driver, "deletionPolicy": "Delete"})
	}
	// snapshot makes one with a content, both as their controllers have them.
	snapshot := func(name, class, driver, policy string) (s, c *unstructured.Unstructured) {
		s = custom("VolumeSnapshot", "snaps", name, map[string]any{"spec": map[string]any{"volumeSnapshotClassName": class}, "status": map[string]any{"boundVolumeSnapshotContentName": name}})
		s.SetFinalizers([]string{"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"})
		o.create(s)
		c = custom("VolumeSnapshotContent", "", name, map[string]any{"spec": map[string]any{"driver": driver, "deletionPolicy": policy,
			"volumeSnapshotRef": map[string]any{"namespace": "snaps", "name": name, "uid": string(s.GetUID())}}, "status": map[string]any{"snapshotHandle": "id-" + name}})
		c.SetFinalizers([]string{"snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"})
		o.create(c)
		return s, c
	}
	o.create(class("cinder", cinderDriver), class("foreign", foreignDriver))
	own, content := snapshot("ours", "cinder", cinderDriver, "Delete")
	kept, keptContent := snapshot("kept", "cinder", cinderDriver, "Retain")
	foreign, foreignContent := snapshot("foreign", "foreign", foreignDriver, "Delete")
	alone, aloneContent := snapshot("alone", "cinder", cinderDriver, "Delete")
	o.patch(alone, `{"metadata":{"finalizers":null}}`)
	if err := o.c.Delete(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	soon := custom("VolumeSnapshot", "snaps", "soon", map[string]any{"spec": map[string]any{"volumeSnapshotClassName": "cinder"}})
	o.create(soon)

	o.policies.Snapshots = kubernikusv1.DeletionPolicyRetain
	if report := o.finish(kubernikusv1.DeorbitSnapshots); len(report.Retained) != 6 || len(report.Seen.Snapshots) != 3 {
		t.Errorf("%+v", report)
	}
	o.stays(own, content, kept, keptContent, aloneContent, soon)
	o.policies.Snapshots, o.seen.Snapshots = kubernikusv1.DeletionPolicyDelete, nil
	if report := o.must(kubernikusv1.DeorbitSnapshots); len(report.Deleted) != 1 || report.Deleted[0].Name != "soon" {
		t.Errorf("what is not recorded was deleted: %+v", report.Deleted)
	}
	o.stays(own, content, kept, keptContent, aloneContent)

	o.remains(kubernikusv1.DeorbitSnapshots, "VolumeSnapshot", "ours", "it is being deleted since")
	for _, u := range []*unstructured.Unstructured{own, kept, aloneContent} {
		eventually(t, func(ctx context.Context) error {
			if err := o.c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil || u.GetDeletionTimestamp().IsZero() {
				return fmt.Errorf("%s is not deleted: %w", u.GetName(), err)
			}
			return nil
		})
	}
	o.stays(content, keptContent)
	o.reclaim(own, kept, aloneContent) // the snapshot controller has completed its part
	o.absent(own, kept, aloneContent)
	o.remains(kubernikusv1.DeorbitSnapshots, "VolumeSnapshotContent", "ours", "it is being deleted since")
	o.reclaim(content)
	report := o.finish(kubernikusv1.DeorbitSnapshots)
	if len(report.Retained) != 1 || report.Retained[0].ID != "id-kept" {
		t.Errorf("%+v", report.Retained)
	}
	o.stays(foreign, foreignContent, keptContent)
}

func testDeorbitServices(t *testing.T, o *orbit) {
	o.space("services")
	web := balancer("services", "web")
	keeps := balancer("services", "keeps", func(s *corev1.Service) { s.Annotations["loadbalancer.openstack.org/keep-floatingip"] = "true" })
	was := balancer("services", "was", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	inside := balancer("services", "inside", func(s *corev1.Service) { s.Spec.Type, s.Finalizers = corev1.ServiceTypeClusterIP, nil })
	o.create(web, keeps, was, inside)

	o.policies.LoadBalancers = kubernikusv1.DeletionPolicyRetain
	if report := o.finish(kubernikusv1.DeorbitServices); len(report.Retained) != 3 || len(report.Seen.Services) != 3 { // one belongs to another provider
		t.Errorf("%+v", report)
	}
	o.stays(web, keeps)
	o.policies.LoadBalancers, o.policies.FloatingIPs, o.seen.Services = kubernikusv1.DeletionPolicyDelete, kubernikusv1.DeletionPolicyRetain, nil
	o.finish(kubernikusv1.DeorbitServices)
	for _, s := range []*corev1.Service{web, keeps} {
		if err := o.c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			t.Fatal(err)
		}
		if s.Annotations["loadbalancer.openstack.org/keep-floatingip"] != "true" || s.DeletionTimestamp.IsZero() {
			t.Errorf("%+v", s.ObjectMeta)
		}
	}
	for _, s := range o.seen.Services {
		if s.KeepFloatingIP != (s.Name != "was") {
			t.Errorf("%+v", s)
		}
	}
	for _, s := range []*corev1.Service{web, keeps, was} {
		o.remains(kubernikusv1.DeorbitWait, "Service", s.Name, "service.kubernetes.io/load-balancer-cleanup")
		o.reclaim(s)
	}
	// All of them had the finalizer, so that no client has to wait for what cannot be seen.
	o.policies.ServiceGracePeriod = 1e18
	o.finish(kubernikusv1.DeorbitWait)
	o.absent(web, keeps)
	o.stays(was, inside)

	// One that was never seen with it may have a load balancer for some time. A process that begins knows of none.
	plain := balancer("services", "plain", func(s *corev1.Service) { s.Finalizers = nil })
	ingress, other := octaviaIngress("services", "web", "openstack"), octaviaIngress("services", "other", "nginx")
	o.create(plain, ingress, other)
	o.policies.FloatingIPs = kubernikusv1.DeletionPolicyDelete
	o.finish(kubernikusv1.DeorbitServices)
	o.absent(plain, ingress)
	o.stays(other)
	o.remains(kubernikusv1.DeorbitWait, "Ingress", "web", "grace period")
	o.remains(kubernikusv1.DeorbitWait, "Service", "plain", "grace period")
	o.policies.ServiceGracePeriod = 0
	o.finish(kubernikusv1.DeorbitWait)
}
