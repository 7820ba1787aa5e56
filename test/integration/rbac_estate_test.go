// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// estate is a Project with a member for each role, another Project, and one object of each kind in both namespaces.
type estate struct {
	project, other *gardenerv1beta1.Project
	backend        string // the name of the DiscoveryBackend: no two have the same
	suffix         string
}

// user returns the name of the user with a role.
func (e estate) user(role string) string { return role + "-" + e.suffix }

// in returns the metadata of an object in the namespace of the Project.
func (e estate) in(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.project.NamespaceName(), Name: name}
}

func newEstate(t *testing.T) estate {
	t.Helper()
	e := estate{suffix: name(t, ""), backend: name(t, "rights")}
	extension := "x" + e.suffix
	var members []gardenerv1beta1.ProjectMember
	for _, role := range []string{owner, admins, uam, viewer, accounts} {
		members = append(members, member("User", e.user(role), role))
	}
	members = append(members, member("User", e.user(extended), "extension:"+extension),
		member("User", e.user(powerful), admins, "extension:"+extension))
	e.project = e.createdByCreator(t, append(members, member("User", e.user(former), admins, uam, viewer, accounts, "extension:"+extension)))
	e.other = newProject(t, "estate", olivia())
	inTheCluster(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: extension, Labels: map[string]string{gardenerv1beta1.LabelAggregateToExtensionRole: extension}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	})
	ready(t, e.project)
	ready(t, e.other)
	change(t, e.project, func(p *gardenerv1beta1.Project) { p.Spec.Members = members })
	ready(t, e.project)
	e.hasNothing(t, former)
	for _, object := range []client.Object{
		klusterIn(e.project.NamespaceName(), "k", ""), backend(e.in(e.backend)), &midonetv1.Translation{ObjectMeta: e.in("t")},
		&corev1.Secret{ObjectMeta: e.in("s")}, &corev1.ConfigMap{ObjectMeta: e.in("c")}, &corev1.ServiceAccount{ObjectMeta: e.in("a")},
		&corev1.ResourceQuota{ObjectMeta: e.in("q")}, &rbacv1.Role{ObjectMeta: e.in("r")}, klusterIn(e.other.NamespaceName(), "k", ""),
	} {
		if err := admin(t).Create(t.Context(), object); err != nil {
			t.Fatalf("%T: %v", object, err)
		}
	}
	// The permission to delete these is checked, not their confirmation.
	for _, object := range []client.Object{e.project, klusterIn(e.project.NamespaceName(), "k", "")} {
		if err := confirm(t.Context(), admin(t), object); err != nil {
			t.Fatalf("%T: %v", object, err)
		}
	}
	get(t, e.project)
	return e
}

// createdByCreator creates a Project as a user who may create Projects, and who is no member of it.
func (e estate) createdByCreator(t *testing.T, members []gardenerv1beta1.ProjectMember) *gardenerv1beta1.Project {
	t.Helper()
	inTheCluster(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: e.user(creator)},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects"}, Verbs: []string{"create"},
		}},
	})
	inTheCluster(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.user(creator)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: e.user(creator)},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: e.user(creator)}},
	})
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "estate")}}
	project.Spec.Members = members
	c := as(t, e.user(creator))
	eventually(t, func(ctx context.Context) error { return c.Create(ctx, project) })
	return project
}

// hold gives the bindings in the namespace of the Project a finalizer, as an admin who wants to keep his permissions. Those of roles whose
// permissions he has, by an extension too, also lose their marks, which Kubernetes does not let him change in others.
func (e estate) hold(t *testing.T) {
	t.Helper()
	c := as(t, e.user(powerful))
	for _, name := range e.bindings() {
		body := holds
		if name == accountsBinding {
			body = keeps
		}
		binding := &rbacv1.RoleBinding{ObjectMeta: e.in(name)}
		eventually(t, func(ctx context.Context) error { return c.Patch(ctx, copyOf(binding), mergePatch(body)) })
	}
}

// bindings returns the names of the bindings of the members in the namespace.
func (e estate) bindings() []string {
	extension := "gardener.cloud:extension:project:" + e.project.Name + ":x" + e.suffix
	return []string{memberBinding, "gardener.cloud:system:project-viewer", accountsBinding, extension}
}

// memberBinding is the binding of admins in the namespace of a Project.
const memberBinding = "gardener.cloud:system:project-member"

// accountsBinding is that of managers of service accounts.
const accountsBinding = "gardener.cloud:system:project-serviceaccountmanager"
