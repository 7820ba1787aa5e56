// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// setReady sets the condition of a node, as its kubelet or the node controller does.
func (v *volumes) setReady(node *corev1.Node, status corev1.ConditionStatus) {
	v.t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"` + string(status) + `","lastTransitionTime":"2030-01-02T12:00:00Z"}]}}`
	if err := v.c.Status().Patch(v.t.Context(), node, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		v.t.Fatal(err)
	}
}

// testOutages checks that nodes which exist lose their claims if they are out of service, or unreachable for long, and that is enabled.
func testOutages(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	off, working, unreachable := v.node("off"), v.node("working"), v.node("unreachable")
	v.setReady(working, corev1.ConditionTrue)
	v.setReady(unreachable, corev1.ConditionUnknown)
	_, offClaim := v.bound("off", "off")
	_, workingClaim := v.bound("working", "working")
	_, unreachableClaim := v.bound("unreachable", "unreachable")
	v.clean("--out-of-service-nodes", "--unreachable-node-delay=2")
	patch := `{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"nodeshutdown","effect":"NoExecute"}]}}`
	if err := v.c.Patch(t.Context(), off, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	for claim, why := range map[*corev1.PersistentVolumeClaim]string{offClaim: "has the taint", unreachableClaim: "has not been ready for 2s"} {
		if event := v.event(claim, localvolume.EventScheduled); !strings.Contains(event.Message, why) {
			t.Errorf("the event of claim %s is %q, want one that contains %q", claim.Name, event.Message, why)
		}
	}
	v.absent(offClaim, unreachableClaim)
	v.stays("they exist", workingClaim, off, working, unreachable)
}

// testProofOfLife checks that claims of deleted nodes are retained while their machines renew their Lease or report the status of a pod, and
// that the permissions for that are in artifacts/.
func testProofOfLife(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	renews, reports, silent := v.node("renews"), v.node("reports"), v.node("silent")
	v.node("other")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: renews.Name}}
	v.create(lease)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: "p"}, Spec: corev1.PodSpec{
		NodeName: reports.Name, Containers: []corev1.Container{{Name: "c", Image: "c"}}}}
	eventually(t, func(ctx context.Context) error { return v.c.Create(ctx, pod) }) // its service account comes first
	_, renewsClaim := v.bound("renews", "renews")
	_, reportsClaim := v.bound("reports", "reports")
	_, silentClaim := v.bound("silent", "silent")
	applyArtifacts(t, p.Plane, "local-volume/proof-of-life")
	v.clean("--proof-of-life", "--max-missing-node-fraction=1")
	v.lose(renews, reports, silent)
	for _, claim := range []client.Object{renewsClaim, reportsClaim, silentClaim} {
		v.event(claim, localvolume.EventScheduled) // their signs of life are known
	}
	renewal := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"renewTime":"2030-01-02T12:00:00.000000Z"}}`))
	if err := v.c.Patch(t.Context(), lease, renewal); err != nil {
		t.Fatal(err)
	}
	report := client.RawPatch("application/strategic-merge-patch+json", []byte(`{"status":{"message":"running"}}`))
	if err := v.c.Status().Patch(t.Context(), pod, report, client.FieldOwner("kubelet")); err != nil {
		t.Fatal(err)
	}
	for claim, why := range map[*corev1.PersistentVolumeClaim]string{renewsClaim: "its Lease was renewed", reportsClaim: "the status of pod " + v.ns + "/p"} {
		if event := v.event(claim, localvolume.EventSkipped); !strings.Contains(event.Message, why) {
			t.Errorf("the event of claim %s is %q, want one that contains %q", claim.Name, event.Message, why)
		}
	}
	v.absent(silentClaim)
	v.stays("their machines are alive", renewsClaim, reportsClaim)
}

// testClassAnnotations checks that annotations opt a storage class in, with its own delay, and another one out, and that the permissions
// for that are in artifacts/.
func testClassAnnotations(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	immediate := storagev1.VolumeBindingImmediate
	annotated := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: v.ns + "-annotated", Annotations: map[string]string{
		localvolume.OptOutAnnotation: localvolume.OptInValue, localvolume.DelayAnnotation: "1s"}},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &immediate}
	v.create(annotated)
	optOut := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+localvolume.OptOutAnnotation+`":"off"}}}`))
	if err := v.c.Patch(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: v.class}}, optOut); err != nil {
		t.Fatal(err)
	}
	node := v.node("a")
	v.node("b")
	_, kept := v.bound("kept", "a")
	volume, claim := v.bound("annotated", "a", func(pv *corev1.PersistentVolume) { pv.Spec.StorageClassName = annotated.Name })
	applyArtifacts(t, p.Plane, "local-volume/storage-class-annotations")
	v.clean("--storage-class-annotations", "--pvc-deletion-delay=1h")
	v.lose(node)
	v.absent(claim, volume)
	if event := v.event(kept, localvolume.EventSkipped); !strings.Contains(event.Message, `of its storage class is "off"`) {
		t.Errorf("the event is %q, want one that names the annotation", event.Message)
	}
	v.stays("its class is opted out", kept)
}
