// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// projectLabels returns what makes a namespace a Project's.
func projectLabels(project string) map[string]string {
	return map[string]string{"gardener.cloud/role": "project", "project.gardener.cloud/name": project}
}

// newNamespace creates a namespace on the shared plane and waits until Kubernetes has put into it what it puts into
// every one.
func newNamespace(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	c := admin(t)
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{})
	})
	get(t, namespace)
}

// projectIn creates a Project on the shared plane that wants a namespace.
func projectIn(t *testing.T, project, namespace string) *gardenerv1beta1.Project {
	t.Helper()
	p := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: project},
		Spec:       gardenerv1beta1.ProjectSpec{Namespace: &namespace, Members: []gardenerv1beta1.ProjectMember{olivia()}},
	}
	if err := admin(t).Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// untouched fails when a namespace of the shared plane was written, or something was put into it.
func untouched(t *testing.T, namespace *corev1.Namespace) {
	t.Helper()
	now := namespace.DeepCopy()
	if get(t, now); now.ResourceVersion != namespace.ResourceVersion {
		t.Errorf("namespace %s was changed:\n%s", now.Name, cmp.Diff(namespace, now))
	}
	for _, list := range []client.ObjectList{&rbacv1.RoleBindingList{}, &corev1.ResourceQuotaList{}} {
		if err := admin(t).List(t.Context(), list, client.InNamespace(now.Name)); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(list); strings.Contains(text, "gardener") {
			t.Errorf("something was put into namespace %s: %s", now.Name, text)
		}
	}
}

// TestForeignNamespaceIsRejected checks that a namespace without the name of the Project, or with another name, is rejected and not
// changed; that it is adopted once it has the name, and left alone if the Project is deleted before.
func TestForeignNamespaceIsRejected(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		labels      func(project string) map[string]string
		annotations map[string]string
		reason      string
		message     string
	}{
		"no labels": {
			func(string) map[string]string { return nil }, nil,
			"NamespaceNotLabelled", "namespace cannot be used as it needs the project labels",
		},
		"the role only": {
			func(string) map[string]string { return map[string]string{"gardener.cloud/role": "project"} }, nil,
			"NamespaceNotLabelled", "namespace cannot be used as it needs the project labels",
		},
		"another project's name": {
			func(string) map[string]string { return projectLabels("other") }, nil,
			"NamespaceNotLabelled", "namespace cannot be used as it needs the project labels",
		},
		"another project's uid": {
			projectLabels, map[string]string{"namespace.gardener.cloud/project": "0a5e0e3e-1111-4222-8333-444455556666"},
			"NamespaceInUse", "namespace is already in-use by another project",
		},
	} {
		t.Run(what, func(t *testing.T) {
			first, second := name(t, "refused"), name(t, "again")
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-" + first, Labels: test.labels(first), Annotations: test.annotations}}
			newNamespace(t, namespace)

			project := projectIn(t, first, namespace.Name)
			contains(t, project, "Failed", "NamespaceReady", "False", test.reason, test.message)
			if event := eventOf(t, project, "NamespaceReconcileFailed"); event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, test.message) {
				t.Errorf("event %s: %s", event.Type, event.Message)
			}
			untouched(t, namespace)
			mustRemove(t, project)
			absent(t, project)
			untouched(t, namespace)

			project = projectIn(t, second, namespace.Name)
			contains(t, project, "Failed", "NamespaceReady", "False", "NamespaceNotLabelled", "needs the project labels")
			untouched(t, namespace)
			change(t, namespace, func(ns *corev1.Namespace) { ns.Labels, ns.Annotations = projectLabels(second), nil })
			ready(t, project)
		})
	}
}

// TestSystemNamespaceIsRejected checks that a Project cannot specify a system namespace.
func TestSystemNamespaceIsRejected(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"kube-system", "default", "groundskeeper-system", "gardens"} {
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "system")}, Spec: gardenerv1beta1.ProjectSpec{Namespace: &namespace}}
		if err := admin(t).Create(t.Context(), project); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must start with garden-") {
			t.Errorf("namespace %s: %v", namespace, err)
		}
	}
}

// TestTerminatingNamespaceIsWaitedFor checks that a Project waits for the deletion of its namespace, and then recreates it.
func TestTerminatingNamespaceIsWaitedFor(t *testing.T) {
	t.Parallel()
	project := name(t, "waits")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-" + project, Labels: projectLabels(project), Finalizers: []string{"example.com/hold"}}}
	newNamespace(t, namespace)
	deleted(t, namespace)
	c := admin(t)
	eventually(t, func(ctx context.Context) error { // until only the finalizer is left
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil || len(namespace.Spec.Finalizers) == 0 {
			return err
		}
		return fmt.Errorf("namespace %s has finalizers %v", namespace.Name, namespace.Spec.Finalizers)
	})

	p := projectIn(t, project, namespace.Name)
	contains(t, p, "Pending", "NamespaceReady", "False", "NamespaceTerminating", "is being deleted")
	untouched(t, namespace)
	change(t, namespace, func(ns *corev1.Namespace) { ns.Finalizers = nil })
	ready(t, p)
	recreated := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}}
	if get(t, recreated); recreated.UID == namespace.UID || recreated.Annotations["namespace.gardener.cloud/created-by-project-controller"] != "true" {
		t.Errorf("uid %s, annotations %v", recreated.UID, recreated.Annotations)
	}
}

// TestAdoptedNamespaceOutlivesItsProject checks that a namespace with the labels of the Project is adopted without an owner
// reference, so that it outlives the Project unchanged.
func TestAdoptedNamespaceOutlivesItsProject(t *testing.T) {
	t.Parallel()
	project := name(t, "adopts")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-" + project, Labels: with(projectLabels(project), "example.com/team", "garden"),
		Annotations: map[string]string{"example.com/note": "ours"}}}
	newNamespace(t, namespace)
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "content"}}
	if err := admin(t).Create(t.Context(), content); err != nil {
		t.Fatal(err)
	}

	p := projectIn(t, project, namespace.Name)
	ready(t, p)
	contains(t, p, "Ready", "NamespaceReady", "True", "NamespaceAdopted", "is retained when the project is deleted")
	adopted := namespace.DeepCopy()
	get(t, adopted)
	if diff := cmp.Diff(map[string]string{
		"example.com/note":                                     "ours",
		"namespace.gardener.cloud/project":                     string(p.UID),
		"namespace.gardener.cloud/keep-after-project-deletion": "true",
	}, adopted.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(namespace.Labels, adopted.Labels); diff != "" || len(adopted.OwnerReferences) > 0 {
		t.Errorf("owners %v, labels (-want +got):\n%s", adopted.OwnerReferences, diff)
	}

	mustRemove(t, p)
	absent(t, p)
	get(t, adopted)
	if diff := cmp.Diff(map[string]string{"example.com/note": "ours"}, adopted.Annotations); diff != "" {
		t.Errorf("annotations after the project (-want +got):\n%s", diff)
	}
	delete(adopted.Labels, corev1.LabelMetadataName) // Kubernetes' own
	if diff := cmp.Diff(map[string]string{"example.com/team": "garden"}, adopted.Labels); diff != "" {
		t.Errorf("labels after the project (-want +got):\n%s", diff)
	}
	if adopted.UID != namespace.UID || !adopted.DeletionTimestamp.IsZero() {
		t.Errorf("the namespace is another one, or is being deleted: %+v", adopted.ObjectMeta)
	}
	hasAccess(t, p, nil)
	get(t, content)
}
