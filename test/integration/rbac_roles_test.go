// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// The users: one with each role of a Project, one who had all but the owner's, the one who created it, and one without any.
const (
	owner    = "owner"
	admins   = "admin"
	uam      = "uam"
	viewer   = "viewer"
	accounts = "serviceaccountmanager"
	extended = "extension"
	powerful = "admin-extension" // both
	former   = "former"
	creator  = "creator"
	stranger = "stranger"
)

func everyRole() []string {
	return []string{owner, admins, uam, viewer, accounts, extended, powerful, former, creator, stranger}
}

// isOf reports whether a role has a permission. One user has two roles, and what each of them may.
func (r right) isOf(role string) bool {
	if role == powerful {
		return r.isOf(admins) || r.isOf(extended)
	}
	return slices.Contains(r.who, role)
}

// They are the table of what each role of a Project is for: what can be done, by whom, and the request that does it. No user is
// allowed to do what is not allowed here. The first are permissions to Groundskeeper's kinds, the second to others.
func (e estate) permissions() []right {
	namespace := e.project.NamespaceName()
	members, readers, anonymous := []string{owner, admins}, []string{owner, admins, viewer}, []string{}
	project := func(name string) *gardenerv1beta1.Project {
		return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return slices.Concat(
		[]right{
			{"get the project", []string{owner, admins, uam, viewer}, toGet(project(e.project.Name))},
			{"list the project by its name", []string{owner, admins, uam, viewer}, toListNamed(e.project.Name)},
			{"watch the project by its name", []string{owner, admins, uam, viewer}, toWatchNamed(e.project.Name)},
			{"patch the project", []string{owner, admins, uam}, toPatch(project(e.project.Name))},
			{"update the project", []string{owner, admins, uam}, toUpdate(e.project)},
			{"delete the project", []string{owner, admins}, toDelete(project(e.project.Name))},
			{"patch the status of the project", anonymous, toPatchStatus(project(e.project.Name))},
			{"list all projects", anonymous, toList(&gardenerv1beta1.ProjectList{}, "")},
			{"create a project", []string{creator}, toCreate(project("more"))},
			{"get another project", anonymous, toGet(project(e.other.Name))},
			{"patch another project", anonymous, toPatch(project(e.other.Name))},
			{"list the klusters of another project", anonymous, toList(&kubernikusv1.KlusterList{}, e.other.NamespaceName())},
			{"list all klusters", anonymous, toList(&kubernikusv1.KlusterList{}, "")},
			{"patch the status of a kluster", anonymous, toPatchStatus(klusterIn(namespace, "k", ""))},
		},
		toEverything("klusters", klusterIn(namespace, "k", ""), &kubernikusv1.KlusterList{}, readers, members),
		toEverything("discovery backends", backend(e.in(e.backend)), &gimbalv1.DiscoveryBackendList{}, readers, anonymous),
		toEverything("translations", &midonetv1.Translation{ObjectMeta: e.in("t")}, &midonetv1.TranslationList{}, readers, anonymous),
	)
}

func (e estate) otherPermissions() []right {
	members, readers, anonymous := []string{owner, admins}, []string{owner, admins, viewer}, []string{}
	namespace := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return slices.Concat(
		[]right{
			{"manage the members", []string{owner, uam}, toHaveVerb("manage-members", e.project)},
			{"change the whitelist of tolerations", anonymous, toHaveVerb("modify-spec-tolerations-whitelist", e.project)},
			{"get the namespace", readers, toGet(namespace(e.project.NamespaceName()))},
			{"delete the namespace", anonymous, toDelete(namespace(e.project.NamespaceName()))},
			{"get the namespace of another project", anonymous, toGet(namespace(e.other.NamespaceName()))},
			{"list the secrets of another project", anonymous, toList(&corev1.SecretList{}, e.other.NamespaceName())},
			{"list events", readers, toList(&corev1.EventList{}, e.project.NamespaceName())},
			{"list pods", []string{extended}, toList(&corev1.PodList{}, e.project.NamespaceName())},
			{"get a token of a service account", []string{owner, accounts}, toCreateToken(e.in("a"))},
			{"give away what one does not have", anonymous, toCreate(&rbacv1.RoleBinding{
				ObjectMeta: e.in("more"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"}},
			})},
		},
		toEverything("secrets", &corev1.Secret{ObjectMeta: e.in("s")}, &corev1.SecretList{}, members, members),
		toEverything("config maps", &corev1.ConfigMap{ObjectMeta: e.in("c")}, &corev1.ConfigMapList{}, readers, members),
		toEverything("roles", &rbacv1.Role{ObjectMeta: e.in("r")}, &rbacv1.RoleList{}, readers, members),
		toEverything("resource quotas", &corev1.ResourceQuota{ObjectMeta: e.in("q")}, &corev1.ResourceQuotaList{}, readers, anonymous),
		toEverything("service accounts", &corev1.ServiceAccount{ObjectMeta: e.in("a")}, &corev1.ServiceAccountList{},
			[]string{owner, admins, viewer, accounts}, []string{owner, accounts}),
	)
}

// TestRolesOfAProject checks that each role of a Project has exactly its documented permissions.
func TestRolesOfAProject(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	for _, role := range everyRole() {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			mayOnly(t, as(t, e.user(role)), role, slices.Concat(e.permissions(), e.otherPermissions()))
			// kube-apiserver rejects on its own what it would hand on to Groundskeeper. A request that reaches Groundskeeper
			// directly is judged the same way.
			direct := shared.DirectConfig(1)
			direct.Impersonate.UserName, direct.Impersonate.Groups = e.user(role), []string{"system:authenticated"}
			mayOnly(t, clientOf(t, direct), role, e.permissions())
		})
	}
}

// mayOnly sends all requests and complains about every one that a role may send and cannot, or the other way round.
func mayOnly(t *testing.T, c client.WithWatch, role string, permissions []right) {
	t.Helper()
	// Allowed requests are tested first: an API server receives roles by a watch, and caches denials for a while.
	for _, right := range permissions {
		if right.isOf(role) {
			eventually(t, func(ctx context.Context) error {
				if err := right.request(ctx, c); err != nil {
					return fmt.Errorf("%s: %w", right.what, err)
				}
				return nil
			})
		}
	}
	for _, right := range permissions {
		if right.isOf(role) {
			continue
		}
		if err := right.request(t.Context(), c); !isRejected(err) {
			t.Errorf("%s: %v, it must be forbidden", right.what, err)
		}
	}
}

// TestPermissionsFollowMembership checks that a removed member loses all permissions, and that a new member gets them.
func TestPermissionsFollowMembership(t *testing.T) {
	t.Parallel()
	leaves, comes := name(t, "leaves"), name(t, "comes")
	project := newProject(t, "rights", olivia(), member("User", leaves, "admin"))
	ready(t, project)
	permissions := func(user string) []func(context.Context) error {
		c := as(t, user)
		return []func(context.Context) error{
			func(ctx context.Context) error { return toGet(project.DeepCopy())(ctx, c) },
			func(ctx context.Context) error {
				return toList(&kubernikusv1.KlusterList{}, project.NamespaceName())(ctx, c)
			},
		}
	}
	for _, right := range permissions(leaves) {
		eventually(t, right)
	}
	change(t, project, func(p *gardenerv1beta1.Project) {
		p.Spec.Members = []gardenerv1beta1.ProjectMember{olivia(), member("User", comes, "viewer")}
	})
	for _, right := range permissions(leaves) {
		eventually(t, func(ctx context.Context) error {
			if err := right(ctx); !isRejected(err) {
				return errors.Join(errors.New(leaves+" left and still has a right"), err)
			}
			return nil
		})
	}
	for _, right := range permissions(comes) {
		eventually(t, right)
	}
}
