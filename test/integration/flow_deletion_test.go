// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDeletionWaitsForObjectsInUse checks that the deletion of a Project waits for objects in its namespace, reports them, and
// continues when the last one has been deleted.
func TestDeletionWaitsForObjectsInUse(t *testing.T) {
	t.Parallel()
	for kind, object := range map[string]client.Object{
		"Kluster": &kubernikusv1.Kluster{Spec: kubernikusv1.KlusterSpec{Name: "short", Version: "1.36.3"}},
		"DiscoveryBackend": &gimbalv1.DiscoveryBackend{
			Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "credentials"},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			project := newProject(t, "inuse", olivia(), member("User", "mara", "admin"))
			ready(t, project)
			access := accessOf(t, project)
			object.SetNamespace(project.NamespaceName())
			object.SetName(name(t, "occupant"))
			object.SetFinalizers([]string{"example.com/hold"})
			if err := admin(t).Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			// The living Project reports so already, without being requested to go.
			contains(t, project, "Ready", "Deletable", "False", "NamespaceNotEmpty", kind+" "+object.GetName())

			mustRemove(t, project)
			contains(t, project, "Terminating", "Deletable", "False", "NamespaceNotEmpty", kind+" "+object.GetName())
			if event := eventOf(t, project, "NamespaceNotEmpty"); event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, object.GetName()) {
				t.Errorf("event %s: %s", event.Type, event.Message)
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
			if get(t, namespace); !namespace.DeletionTimestamp.IsZero() {
				t.Error("the namespace is being deleted")
			}
			hasAccess(t, project, access) // its members continue working

			// Deleted, but not deleted: the finalizers stand for what is torn down outside.
			deleted(t, object)
			get(t, object)
			get(t, project)
			change(t, object, func(o client.Object) { o.SetFinalizers(nil) })
			absent(t, project, namespace)
			hasAccess(t, project, nil)
		})
	}
}

// TestDeletionWaitsForFinalizers checks that the members retain their access while an object with a finalizer would hold the namespace: one
// of the kinds that the controller manager is always allowed to list, or of those that an administrator grants.
func TestDeletionWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	for kind, object := range map[string]client.Object{
		"Service": &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"Lease":   &coordinationv1.Lease{},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			project := newProject(t, "held", olivia(), member("User", "mara", "admin"))
			ready(t, project)
			access := accessOf(t, project)
			if kind == "Lease" {
				applyArtifacts(t, shared, "project-contents")
				eventually(t, func(ctx context.Context) error { return mayList(ctx, admin(t), "coordination.k8s.io", "leases") })
			}
			object.SetNamespace(project.NamespaceName())
			object.SetName("held")
			object.SetFinalizers([]string{"example.com/hold"})
			if err := admin(t).Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}

			mustRemove(t, project)
			contains(t, project, "Terminating", "Deletable", "False", "NamespaceNotEmpty", kind+" held (example.com/hold)")
			// Secrets are not among the kinds, and do not block.
			contains(t, project, "Terminating", "Deletable", "False", "NamespaceNotEmpty", "not allowed to list them: ")
			contains(t, project, "Terminating", "RBACReady", "True", "RolesReconciled", "")
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
			if get(t, namespace); !namespace.DeletionTimestamp.IsZero() {
				t.Error("the namespace is being deleted")
			}
			hasAccess(t, project, access)

			change(t, object, func(o client.Object) { o.SetFinalizers(nil) })
			absent(t, project, namespace)
			hasAccess(t, project, nil)
		})
	}
}

// mayList complains while the controller manager is not allowed to list a resource.
func mayList(ctx context.Context, c client.Client, group, resource string) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:groundskeeper-system:groundskeeper-controller-manager",
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource},
	}}
	if err := c.Create(ctx, review); err != nil || review.Status.Allowed {
		return err
	}
	return fmt.Errorf("the controller manager is not allowed to list %s: %s", resource, review.Status.Reason)
}

// TestProjectIsDeletedAfterItsNamespace checks that the Project is not deleted before its namespace, whose deletion is forced although a
// finalizer holds it.
func TestProjectIsDeletedAfterItsNamespace(t *testing.T) {
	t.Parallel()
	project := newProject(t, "last", olivia())
	ready(t, project)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "held", Finalizers: []string{"example.com/hold"}}}
	if err := admin(t).Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	get(t, namespace)

	change(t, project, func(p *gardenerv1beta1.Project) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, gardenerv1beta1.AnnotationForceDeletion, "true")
	})
	mustRemove(t, project)
	contains(t, project, "Terminating", "NamespaceReady", "False", "NamespaceTerminating", "is being deleted")
	eventOf(t, project, "NamespaceMarkedForDeletion")
	// Kubernetes has tried, and reports what it waits for, which the Project passes on.
	contains(t, project, "Terminating", "NamespaceReady", "False", "NamespaceTerminating", "example.com/hold")
	contains(t, project, "Terminating", "Deletable", "False", "NamespaceHeld", "example.com/hold")
	contains(t, project, "Terminating", "RBACReady", "False", "NamespaceTerminating", "")
	if !slices.Contains(project.Finalizers, gardenerv1beta1.FinalizerName) {
		t.Errorf("finalizers %v", project.Finalizers)
	}
	change(t, secret, func(s *corev1.Secret) { s.Finalizers = nil })
	absent(t, project, namespace)
	hasAccess(t, project, nil)
}

// TestNamespaceWithoutLabelsIsReleased checks that a namespace without the labels of its Project survives the deletion of the
// Project, including changes by other users.
func TestNamespaceWithoutLabelsIsReleased(t *testing.T) {
	t.Parallel()
	project := newProject(t, "released", olivia())
	ready(t, project)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	change(t, namespace, func(ns *corev1.Namespace) { ns.Labels["project.gardener.cloud/name"] = "other" })
	contains(t, project, "Failed", "NamespaceReady", "False", "NamespaceNotLabelled", "")
	mustRemove(t, project)
	absent(t, project)
	hasAccess(t, project, nil) // the garbage collector has processed it
	before := namespace.DeepCopy()
	if get(t, namespace); namespace.UID != before.UID || !namespace.DeletionTimestamp.IsZero() || namespace.Labels["project.gardener.cloud/name"] != "other" {
		t.Errorf("the namespace was not left alone: %+v", namespace.ObjectMeta)
	}
	if len(namespace.OwnerReferences) > 0 {
		t.Errorf("the namespace is still owned, the garbage collector will take it: %v", namespace.OwnerReferences)
	}
}

// TestSameNameAgain checks that a Project with the name of a deleted one gets another namespace.
func TestSameNameAgain(t *testing.T) {
	t.Parallel()
	first := newProject(t, "again", olivia())
	ready(t, first)
	second := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: first.Name}}
	if err := admin(t).Create(t.Context(), second); !apierrors.IsAlreadyExists(err) {
		t.Errorf("while the first one lives: %v", err)
	}
	mustRemove(t, first)
	absent(t, first)
	if err := admin(t).Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	ready(t, second)
	if second.NamespaceName() == first.NamespaceName() {
		t.Errorf("both have namespace %s", first.NamespaceName())
	}
	if found := accessOf(t, second); len(found) != 11 {
		t.Errorf("roles and bindings: %v", found)
	}
}
