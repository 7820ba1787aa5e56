// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestEditsOfOthersAreRetained checks that the controller keeps the labels and annotations that other clients add to its objects.
func TestEditsOfOthersAreRetained(t *testing.T) {
	t.Parallel()
	project := newProject(t, "others", olivia(), member("User", "vera", "viewer"))
	ready(t, project)
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:system:project-viewer:" + project.Name}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:system:project-viewer:" + project.Name}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "gardener.cloud:system:project-viewer"}},
	}
	want := accessOf(t, project)
	for _, object := range objects {
		change(t, object, func(o client.Object) {
			o.SetLabels(with(o.GetLabels(), "example.com/team", "garden"))
			o.SetAnnotations(with(o.GetAnnotations(), "example.com/note", "ours"))
			switch o := o.(type) { // a change that makes the controller write this object
			case *corev1.Namespace:
				delete(o.Annotations, "namespace.gardener.cloud/project")
			case *rbacv1.ClusterRole:
				o.Rules = nil
			case *rbacv1.ClusterRoleBinding:
				o.Subjects = nil
			case *rbacv1.RoleBinding:
				o.Subjects = nil
			}
		})
	}
	hasAccess(t, project, want)
	namespaceHas(t, project, "namespace.gardener.cloud/project", string(project.UID))
	for _, object := range objects {
		get(t, object)
		if object.GetLabels()["example.com/team"] != "garden" || object.GetAnnotations()["example.com/note"] != "ours" {
			t.Errorf("%T: labels %v, annotations %v", object, object.GetLabels(), object.GetAnnotations())
		}
	}
}

// TestEditsOfTheNamespace checks that the labels and annotations that identify the Project are restored in its namespace. If a user
// removes the labels, the namespace no longer belongs to the Project: the Project reports this, and continues when the labels are
// back.
func TestEditsOfTheNamespace(t *testing.T) {
	t.Parallel()
	project := newProject(t, "marks", olivia())
	ready(t, project)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	get(t, namespace)
	before := namespace.DeepCopy()

	for what, edit := range map[string]func(*corev1.Namespace){
		"no uid": func(ns *corev1.Namespace) { delete(ns.Annotations, "namespace.gardener.cloud/project") },
		"an owner": func(ns *corev1.Namespace) {
			ns.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(project, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"))}
		},
	} {
		t.Run(what, func(t *testing.T) {
			change(t, namespace, edit)
			c := admin(t)
			eventually(t, func(ctx context.Context) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
					return err
				}
				return errors.Join(diffError(before.Annotations, namespace.Annotations), diffError(before.OwnerReferences, namespace.OwnerReferences))
			})
		})
	}
	change(t, namespace, func(ns *corev1.Namespace) { delete(ns.Labels, "gardener.cloud/role") })
	contains(t, project, "Failed", "NamespaceReady", "False", "NamespaceNotLabelled", "needs the project labels")
	change(t, namespace, func(ns *corev1.Namespace) { ns.Labels = before.Labels })
	ready(t, project)
	if namespace.UID != before.UID {
		t.Error("the namespace is another one")
	}

	// One that is deleted past its Project comes back.
	deleted(t, namespace)
	absent(t, before)
	namespaceHas(t, project, "namespace.gardener.cloud/project", string(project.UID))
	ready(t, project)
	if found := accessOf(t, project); len(found) != 11 {
		t.Errorf("the new namespace has not all bindings: %v", found)
	}
}

// namespaceHas waits until the namespace of a Project of the shared plane has an annotation.
func namespaceHas(t *testing.T, project *gardenerv1beta1.Project, annotation, value string) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		namespace := &corev1.Namespace{}
		if err := c.Get(ctx, client.ObjectKey{Name: project.NamespaceName()}, namespace); err != nil {
			return err
		}
		if namespace.Annotations[annotation] != value || !namespace.DeletionTimestamp.IsZero() {
			return fmt.Errorf("namespace %s has annotations %v", namespace.Name, namespace.Annotations)
		}
		return nil
	})
}
