// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/plane"
)

// TestRemovalNeedsConfirmation checks that what serves a registered API is removed only with a confirmation, because no namespace of the
// cluster could be deleted afterwards, and that nothing else of the namespace is protected.
func TestRemovalNeedsConfirmation(t *testing.T) {
	t.Parallel()
	p, err := startAudited(t.Context(), t, plane.Options{Dir: t.TempDir(), APIServers: 1, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := clientOf(t, p.Config())
	const namespace, confirmation = "groundskeeper-system", "confirmation.gardener.cloud/deletion"
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	labels := map[string]string{"app": "a"}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	claim := corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}
	deployment := func(name string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}}
	}
	server, other := deployment("groundskeeper-apiserver"), deployment("other")
	etcd := &appsv1.StatefulSet{ObjectMeta: meta("groundskeeper-etcd"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: pod}}
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: meta("groundskeeper-etcd"), Spec: claim}
	member := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data-groundskeeper-etcd-1"), Spec: claim}
	service := &corev1.Service{ObjectMeta: meta("groundskeeper-apiserver")}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	for _, object := range []client.Object{server, other, etcd, volume, member} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}

	remove := func(object client.Object) func(context.Context) error {
		return func(ctx context.Context) error { return c.Delete(ctx, object, client.DryRunAll) }
	}
	replicas := func(object client.Object, count string) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.Patch(ctx, copyOf(object), mergePatch(`{"spec":{"replicas":`+count+`}}`), client.DryRunAll)
		}
	}
	scale := func(object client.Object, count int32) func(context.Context) error {
		return func(ctx context.Context) error {
			to := &autoscalingv1.Scale{ObjectMeta: meta(object.GetName()), Spec: autoscalingv1.ScaleSpec{Replicas: count}}
			return c.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(to), &client.SubResourceUpdateOptions{
				UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
		}
	}
	protected := map[string]func(context.Context) error{
		"the namespace": remove(space), "the Service": remove(service), "the Deployment": remove(server), "the StatefulSet": remove(etcd), "the claim": remove(volume),
		"the Deployment at 0": replicas(server, "0"), "the Deployment scaled to 0": scale(server, 0), "the StatefulSet scaled to 0": scale(etcd, 0),
	}
	expect := func(when string, requests map[string]func(context.Context) error, denied bool) {
		t.Helper()
		for what, request := range requests {
			if denied {
				soon(t, "confirm with kubectl annotate namespace groundskeeper-system", request)
			} else {
				eventually(t, request)
			}
			if err := request(t.Context()); apierrors.IsForbidden(err) != denied {
				t.Errorf("%s, %s: %v, want denied = %t", when, what, err, denied)
			}
		}
	}
	expect("while the API is registered", protected, true)
	expect("while the API is registered", map[string]func(context.Context) error{
		"another Deployment": remove(other), "another Deployment scaled to 0": scale(other, 0), "the claim of a member": remove(member),
		"the Deployment scaled to 2": scale(server, 2), "gimbal-discovery": remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gimbal-discovery"}}),
	}, false)

	annotate := func(object client.Object, value string) {
		t.Helper()
		if err := c.Patch(t.Context(), object, mergePatch(`{"metadata":{"annotations":{"`+confirmation+`":`+value+`}}}`)); err != nil {
			t.Fatal(err)
		}
	}
	annotate(volume, `"true"`)
	expect("confirmed itself", map[string]func(context.Context) error{"the claim": remove(volume)}, false)
	annotate(space, `"true"`)
	expect("confirmed", protected, false)
	annotate(space, "null")
	annotate(volume, "null")
	expect("no more confirmed", protected, true)

	services := &unstructured.UnstructuredList{}
	services.SetAPIVersion("apiregistration.k8s.io/v1")
	services.SetKind("APIServiceList")
	if err := c.List(t.Context(), services, client.MatchingLabels{"app.kubernetes.io/part-of": "groundskeeper"}); err != nil || len(services.Items) != 4 {
		t.Fatalf("%d APIServices, %v, want 4", len(services.Items), err)
	}
	for i := range services.Items {
		if err := c.Delete(t.Context(), &services.Items[i]); err != nil {
			t.Fatal(err)
		}
	}
	expect("without APIServices", protected, false)
}
