// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestEditsOfRolesAreCorrected checks that manual changes to the roles and bindings of a Project are reverted.
func TestEditsOfRolesAreCorrected(t *testing.T) {
	t.Parallel()
	project := newProject(t, "edits", olivia(), member("User", "mara", "admin"), member("User", "vera", "viewer", "extension:deploy"))
	ready(t, project)
	clusterRole := func() *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:system:project-viewer:" + project.Name}}
	}
	extensionRole := func() *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:extension:project:" + project.Name + ":deploy"}}
	}
	clusterBinding := func() *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:system:project-member:" + project.Name}}
	}
	binding := func() *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: "gardener.cloud:system:project-viewer"}}
	}
	mallory := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"}

	// Read once: Kubernetes removes the rules of another aggregation only after the test that created it.
	want, labels := accessOf(t, project), labelsOf(t, project)
	for what, edit := range map[string]func(*testing.T) client.Object{
		"a rule more": func(t *testing.T) client.Object {
			object := clusterRole()
			change(t, object, func(role *rbacv1.ClusterRole) {
				role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
			})
			return object
		},
		"no rules": func(t *testing.T) client.Object {
			object := clusterRole()
			change(t, object, func(role *rbacv1.ClusterRole) { role.Rules = nil })
			return object
		},
		"another aggregation": func(t *testing.T) client.Object {
			object := extensionRole()
			change(t, object, func(role *rbacv1.ClusterRole) {
				role.AggregationRule.ClusterRoleSelectors[0].MatchLabels = map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
			})
			return object
		},
		"a member of the cluster more": func(t *testing.T) client.Object {
			object := clusterBinding()
			change(t, object, func(b *rbacv1.ClusterRoleBinding) { b.Subjects = append(b.Subjects, mallory) })
			return object
		},
		"a member of the namespace instead": func(t *testing.T) client.Object {
			object := binding()
			change(t, object, func(b *rbacv1.RoleBinding) { b.Subjects = []rbacv1.Subject{mallory} })
			return object
		},
		"an owner": func(t *testing.T) client.Object {
			object := binding()
			change(t, object, func(b *rbacv1.RoleBinding) {
				b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(project, gardenerv1beta1.SchemeGroupVersion.WithKind("Project"))}
			})
			return object
		},
		// Without its label an object is no longer seen by the controller: it must not get out of its hands that way.
		"no label, no rules": func(t *testing.T) client.Object {
			object := clusterRole()
			change(t, object, func(role *rbacv1.ClusterRole) { role.Labels, role.Rules = nil, nil })
			return object
		},
		"label of another project": func(t *testing.T) client.Object {
			object := binding()
			change(t, object, func(b *rbacv1.RoleBinding) { b.Labels["project.gardener.cloud/name"], b.Subjects = "other", nil })
			return object
		},
		"role deleted":                   func(t *testing.T) client.Object { return deleted(t, clusterRole()) },
		"extension role deleted":         func(t *testing.T) client.Object { return deleted(t, extensionRole()) },
		"binding of the cluster deleted": func(t *testing.T) client.Object { return deleted(t, clusterBinding()) },
		"binding deleted":                func(t *testing.T) client.Object { return deleted(t, binding()) },
		"binding of the cluster to another role": func(t *testing.T) client.Object {
			return replaced(t, clusterBinding(), func(b *rbacv1.ClusterRoleBinding) {
				b.RoleRef.Name, b.Subjects = "cluster-admin", append(b.Subjects, mallory)
			})
		},
		"binding to another role, without its label": func(t *testing.T) client.Object {
			return replaced(t, binding(), func(b *rbacv1.RoleBinding) { b.RoleRef.Name, b.Labels = "cluster-admin", nil })
		},
	} {
		t.Run(what, func(t *testing.T) {
			object := edit(t)
			hasAccess(t, project, want)
			eventually(t, func(context.Context) error { return diffError(labels, labelsOf(t, project)) })
			get(t, object) // it is there, under its name
		})
	}
}

// labelsOf reads the labels of the roles and bindings of a Project of the shared plane.
func labelsOf(t *testing.T, project *gardenerv1beta1.Project) map[string]map[string]string {
	t.Helper()
	labels := map[string]map[string]string{}
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}} {
		if err := admin(t).List(t.Context(), list, client.MatchingLabels{"project.gardener.cloud/name": project.Name}); err != nil {
			t.Fatal(err)
		}
		err := eachOf(list, func(object client.Object) error {
			labels[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetLabels()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return labels
}
