// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestDeleteBackendWithoutImage checks that a backend without an image for discoverers reports NoImage and can be deleted,
// including the copies of a discoverer that was started manually, the references to them, and a leftover Deployment.
func TestDeleteBackendWithoutImage(t *testing.T) {
	t.Parallel()
	c, shop := admin(t), freshNamespace(t, "shop")
	made := backend(metav1.ObjectMeta{Namespace: discoveryNamespace, Name: name(t, "hand")})
	create := func(objects ...client.Object) {
		t.Helper()
		for _, object := range objects {
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(made)
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		available := meta.FindStatusCondition(made.Status.Conditions, gimbalv1.ConditionAvailable)
		if available == nil || available.Status != metav1.ConditionFalse || available.Reason != "NoImage" ||
			!strings.Contains(available.Message, "set controllers.discovery.image") {
			return fmt.Errorf("conditions = %+v, want Available=False/NoImage", made.Status.Conditions)
		}
		return nil
	})
	labels := map[string]string{gimbalv1.LabelBackend: made.Name, "app.kubernetes.io/managed-by": discoverer}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: made.Name + "-web", Labels: labels}}
	web.Spec = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: web.ObjectMeta, AddressType: discoveryv1.AddressTypeIPv4}
	foreign := web.DeepCopy()
	foreign.Name, foreign.Labels = "foreign", map[string]string{gimbalv1.LabelBackend: made.Name}
	ingress, deployment := ingressTo(shop, web.Name, "other"), formerDeployment(made)
	create(web, slice, foreign, ingress, deployment)

	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		if routes := made.Status.Routes; routes == nil || routes.Matching != 1 || routes.WithoutAlternative == nil {
			return fmt.Errorf("routes = %+v, want one without an alternative", routes)
		}
		return nil
	})
	for _, how := range []string{"--dry-run=server", "--wait=true"} {
		out, err := kubectl(t, "", "delete", "dbe", made.Name, "--namespace="+made.Namespace, how)
		if err == nil || !strings.Contains(err.Error(), `must have a "confirmation.gardener.cloud/deletion" annotation to delete`) ||
			!strings.Contains(err.Error(), "leaves no backend for the requests of 1 route: Ingress "+shop+"/"+ingress.Name) {
			t.Errorf("delete %s without a confirmation: %v: %s", how, err, out)
		}
	}
	if out, err := kubectl(t, "", "annotate", "dbe", made.Name, "--namespace="+made.Namespace, "confirmation.gardener.cloud/deletion=true"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := kubectl(t, "", "delete", "dbe", made.Name, "--namespace="+made.Namespace, "--timeout=60s"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	absent(t, made, web, slice, deployment)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Errorf("get a Service without the label of the discoverer: %v", err)
	}
	get(t, ingress)
	if paths := ingress.Spec.Rules[0].HTTP.Paths; len(paths) != 1 || paths[0].Backend.Service.Name != "other" {
		t.Errorf("paths of the Ingress = %+v, want only that to Service other", paths)
	}
	if ingress.Annotations[gimbalv1.AnnotationRemovedReferences] == "" {
		t.Error("the Ingress has no record of the removed reference")
	}

	// The reference is restored for a new backend of the same name whose Service exists again.
	again := backend(metav1.ObjectMeta{Namespace: discoveryNamespace, Name: made.Name})
	web.ResourceVersion, web.UID = "", ""
	create(again, web)
	for _, how := range []string{"--dry-run", "--yes"} {
		command := exec.CommandContext(t.Context(), shared.Kubectl(), "groundskeeper", "restore-references", again.Name,
			"--kubeconfig", shared.AdminKubeconfig(), "--namespace", again.Namespace, how)
		command.Env = append(os.Environ(), "PATH="+filepath.Dir(shared.Kubectl())+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Ingress "+shop+"/"+ingress.Name+" spec.rules[0]: would be restored") {
			t.Fatalf("restore-references %s: %v: %s", how, err, out)
		}
	}
	get(t, ingress)
	if paths := ingress.Spec.Rules[0].HTTP.Paths; len(paths) != 2 || paths[0].Backend.Service.Name != web.Name {
		t.Errorf("paths of the restored Ingress = %+v, want both", paths)
	}
	if record := ingress.Annotations[gimbalv1.AnnotationRemovedReferences]; record != "" {
		t.Errorf("record = %s, want none", record)
	}
}

// ingressTo returns an Ingress with one path per Service.
func ingressTo(namespace string, services ...string) *networkingv1.Ingress {
	var paths []networkingv1.HTTPIngressPath
	for _, service := range services {
		paths = append(paths, networkingv1.HTTPIngressPath{
			Path: "/" + service, PathType: new(networkingv1.PathTypePrefix),
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}},
		})
	}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "routes"},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}},
		}}},
	}
}

// formerDeployment returns the Deployment of a discoverer that ran before the image was removed, without replicas.
func formerDeployment(backend *gimbalv1.DiscoveryBackend) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": discoverer, "app.kubernetes.io/instance": backend.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: backend.Namespace, Name: backend.Name + "-discoverer", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(backend, gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "discoverer", Image: "discoverer"}}},
			},
		},
	}
}
