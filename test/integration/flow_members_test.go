// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// bindings are the subjects of the seven bindings of a Project, by role.
type bindings struct{ owner, uam, member, viewer, accounts string }

// access returns what the eleven objects of a Project with these bindings contain.
func (b bindings) access() access {
	const (
		all, system = "ClusterRole gardener.cloud:system:", "gardener.cloud:system:"
		namespace   = "; /namespaces[NS] get,list,watch"
	)
	a := access{
		all + "project:P":        "core.gardener.cloud/projects[P] delete,get,list,manage-members,patch,update,watch" + namespace,
		all + "project-uam:P":    "core.gardener.cloud/projects[P] get,list,manage-members,patch,update,watch",
		all + "project-member:P": "core.gardener.cloud/projects[P] delete,get,list,patch,update,watch" + namespace,
		all + "project-viewer:P": "core.gardener.cloud/projects[P] get,list,watch" + namespace,
	}
	for role, subjects := range map[string]string{"project:P": b.owner, "project-uam:P": b.uam, "project-member:P": b.member, "project-viewer:P": b.viewer} {
		a["ClusterRoleBinding "+system+role] = all + role + ": " + subjects
	}
	for role, subjects := range map[string]string{"project-member": b.member, "project-viewer": b.viewer, "project-serviceaccountmanager": b.accounts} {
		a["RoleBinding "+system+role] = all + role + ": " + subjects
	}
	return a
}

// TestMembersChange checks that roles and bindings follow changes of the members.
func TestMembersChange(t *testing.T) {
	t.Parallel()
	project := newProject(t, "members", olivia())
	hasAccess(t, project, bindings{owner: "User olivia", member: "User olivia", accounts: "User olivia"}.access())

	robot := member("ServiceAccount", project.NamespaceName()+"/robot", "serviceaccountmanager")
	for _, step := range []struct {
		what    string
		members []gardenerv1beta1.ProjectMember
		want    bindings
	}{
		{
			"added",
			[]gardenerv1beta1.ProjectMember{olivia(), member("User", "mara", "admin"), member("Group", "auditors"), robot},
			bindings{owner: "User olivia", member: "User mara, User olivia", viewer: "Group auditors", accounts: "ServiceAccount NS/robot, User olivia"},
		},
		{
			"another role",
			[]gardenerv1beta1.ProjectMember{olivia(), member("User", "mara", "viewer"), member("Group", "auditors", "uam"), robot},
			bindings{owner: "User olivia", uam: "Group auditors", member: "User olivia", viewer: "User mara", accounts: "ServiceAccount NS/robot, User olivia"},
		},
		{
			"a second role",
			[]gardenerv1beta1.ProjectMember{olivia(), member("User", "mara", "viewer", "uam"), member("Group", "auditors", "uam"), robot},
			bindings{owner: "User olivia", uam: "Group auditors, User mara", member: "User olivia", viewer: "User mara", accounts: "ServiceAccount NS/robot, User olivia"},
		},
		{
			"removed",
			[]gardenerv1beta1.ProjectMember{olivia(), member("User", "mara", "viewer")},
			bindings{owner: "User olivia", member: "User olivia", viewer: "User mara", accounts: "User olivia"},
		},
	} {
		change(t, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = step.members })
		t.Log(step.what)
		hasAccess(t, project, step.want.access())
	}

	mara := member("User", "mara", "owner")
	change(t, project, func(p *gardenerv1beta1.Project) {
		p.Spec.Owner, p.Spec.Members = &mara.Subject, []gardenerv1beta1.ProjectMember{mara, member("User", "olivia", "viewer")}
	})
	hasAccess(t, project, bindings{owner: "User mara", member: "User mara", viewer: "User olivia", accounts: "User mara"}.access())
	ready(t, project)
}

// TestExtensionRoleFollowsMembers checks that an extension role exists while a member has it, and that Kubernetes aggregates its
// rules from labeled ClusterRoles.
func TestExtensionRoleFollowsMembers(t *testing.T) {
	t.Parallel()
	project := newProject(t, "extension", olivia())
	ready(t, project)
	plain := bindings{owner: "User olivia", member: "User olivia", accounts: "User olivia"}.access()
	deploy := name(t, "x") // a dedicated name: the rules of others with the same name would be aggregated too
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, "part-"), Labels: map[string]string{"rbac.gardener.cloud/aggregate-to-extension-role": deploy}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}}},
	}
	if err := admin(t).Create(t.Context(), part); err != nil {
		t.Fatal(err)
	}

	change(t, project, func(p *gardenerv1beta1.Project) {
		p.Spec.Members = append(p.Spec.Members, member("User", "vera", "extension:"+deploy), member("User", "walt", "extension:"+deploy))
	})
	role, aggregated := "gardener.cloud:extension:project:P:"+deploy, "; aggregated rbac.gardener.cloud/aggregate-to-extension-role="+deploy
	want := maps.Clone(plain)
	want["ClusterRole "+role] = "apps/deployments[] get,patch" + aggregated
	want["RoleBinding "+role] = "ClusterRole " + role + ": User vera, User walt"
	hasAccess(t, project, want)
	clusterRole := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:extension:project:" + project.Name + ":" + deploy}}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: clusterRole.Name}}
	for _, object := range []client.Object{clusterRole, binding} {
		get(t, object)
		labels := map[string]string{"gardener.cloud/role": "extension-project-role", "project.gardener.cloud/name": project.Name}
		if diff := cmp.Diff(labels, object.GetLabels()); diff != "" {
			t.Errorf("labels of %T (-want +got):\n%s", object, diff)
		}
	}

	// The rules change with their parts, and stay when the controller writes next to them.
	change(t, part, func(r *rbacv1.ClusterRole) { r.Rules[0].Verbs = []string{"delete"} })
	want["ClusterRole "+role] = "apps/deployments[] delete" + aggregated
	hasAccess(t, project, want)
	get(t, clusterRole)
	before := clusterRole.ResourceVersion
	change(t, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = p.Spec.Members[:len(p.Spec.Members)-1] })
	want["RoleBinding "+role] = "ClusterRole " + role + ": User vera"
	hasAccess(t, project, want)
	ready(t, project)
	if get(t, clusterRole); clusterRole.ResourceVersion != before {
		t.Error("the controller wrote the aggregated role")
	}

	change(t, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = p.Spec.Members[:1] })
	hasAccess(t, project, plain)

	// An object with the same name but without Groundskeeper's labels is not deleted.
	stranger := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "gardener.cloud:extension:project:" + project.Name + ":theirs"}}
	if err := admin(t).Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	change(t, project, func(p *gardenerv1beta1.Project) { p.Spec.Description = new("after it") })
	ready(t, project)
	get(t, stranger)
	mustRemove(t, project)
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		found, err := readAccess(ctx, c, project)
		if err != nil || len(found) == 1 {
			return err
		}
		return fmt.Errorf("left of project %s: %v", project.Name, found)
	})
	get(t, stranger)
}
