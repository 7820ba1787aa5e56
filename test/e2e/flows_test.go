// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestKilledPod checks that, after a pod is killed or deleted, its successor writes nothing.
func TestKilledPod(t *testing.T) {
	t.Parallel()
	b := newBackend(t, "killed", "killed-user")
	b.publish(t, "web")
	b.copied(t, "web")
	b.works(t)
	pod, before := b.onlyPod(t, ""), len(b.copyWrites(t))

	status := pod.Status.ContainerStatuses[0]
	pid := processOf(t, strings.TrimPrefix(status.ContainerID, "containerd://"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := here.Get(ctx, client.ObjectKeyFromObject(&pod), &pod); err != nil {
			return err
		}
		if now := pod.Status.ContainerStatuses[0]; now.RestartCount != status.RestartCount+1 || !now.Ready {
			return fmt.Errorf("the container is %+v", now)
		}
		return nil
	})
	if err := here.Delete(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	b.onlyPod(t, pod.Name)
	b.publish(t, "later") // the new one works when this is copied
	b.copied(t, "later")
	if writes := b.copyWrites(t)[before:]; len(writes) != 2 {
		t.Errorf("after two restarts, and for one new service, want a Service and an EndpointSlice written, got %+v", writes)
	}
}

// processOf returns the id of the process of a container.
func processOf(t *testing.T, container string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file) // some have been deleted meanwhile
		if err == nil && bytes.Contains(content, []byte(container)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("container %s has no process", container)
	return 0
}

// TestDeletion checks that a backend is deleted with all its objects, and nothing else.
func TestDeletion(t *testing.T) {
	t.Parallel()
	b := newBackend(t, "deleted", "deleted-user")
	b.publish(t, "web")
	b.copied(t, "web")
	b.works(t)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "foreign"}}
	foreign.Labels = map[string]string{gimbalv1.LabelBackend: b.name}
	foreign.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	create(t, here, foreign)

	part := metav1.ObjectMeta{Namespace: adminNamespace, Name: b.name + "-discoverer"}
	parts := []client.Object{&appsv1.Deployment{ObjectMeta: part}, &corev1.ServiceAccount{ObjectMeta: part}, &coordinationv1.Lease{ObjectMeta: part}}
	for _, object := range parts {
		if err := here.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := here.Delete(t.Context(), b.object); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		for _, object := range append(parts, b.object) {
			switch err := here.Get(ctx, client.ObjectKeyFromObject(object), object); {
			case err == nil:
				return fmt.Errorf("%T %s is still there", object, object.GetName())
			case !apierrors.IsNotFound(err):
				return err
			}
		}
		mine := client.MatchingLabels{gimbalv1.LabelBackend: b.name}
		services, endpoints := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
		bindings, clusterBindings := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
		for _, list := range []client.ObjectList{services, endpoints, bindings, clusterBindings} {
			if err := here.List(ctx, list, mine); err != nil {
				return err
			}
		}
		pods, err := b.pods(ctx)
		if err != nil {
			return err
		}
		left := len(endpoints.Items) + len(bindings.Items) + len(clusterBindings.Items) + len(pods)
		if left > 0 || len(services.Items) != 1 || services.Items[0].Name != foreign.Name {
			return fmt.Errorf("%d services, and %d slices, bindings and pods", len(services.Items), left)
		}
		return nil
	})
}

// TestExamples checks that the examples work unchanged with a Secret of the documented name.
func TestExamples(t *testing.T) {
	t.Parallel()
	b := &backend{in: here, name: "kubernetes001", namespace: "example-apps"}
	b.object = &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: b.name}}
	for _, c := range []*cluster{here, there} {
		create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}})
	}
	b.publish(t, "web")
	create(t, here, secretOf("kubernetes001-kubecfg", kubeconfigOf(t, "example-user")))
	here.kubectl(t, "apply", "-f", "../../artifacts/examples/discoverybackends.yaml")
	b.copied(t, "web")
	b.becomes(t, "Available=True", "CredentialsValid=True")

	openstack := &backend{in: here, object: &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "openstack001"}}}
	openstack.becomes(t, "Available=False/DiscovererNotStarted", "CredentialsValid=False/SecretMissing")
	if message := openstack.complains(t); !strings.Contains(message, "remote-discover-openstack") {
		t.Errorf("the error does not name the Secret that is missing: %s", message)
	}
	here.kubectl(t, "delete", "-f", "../../artifacts/examples/discoverybackends.yaml", "--timeout=60s")
}

// TestRestricted checks that discoverers run in a namespace with the restricted profile, in which privileged pods are rejected.
func TestRestricted(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: adminNamespace, Name: "ordinary"}}
	pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "localhost/pause:1"}}
	if err := here.Create(t.Context(), pod); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "restricted") {
		t.Errorf("a pod that does not renounce privileges: %v", err)
	}
}
