// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	identity "k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// evaluated returns the verbs that cluster-scoped roles and bindings allow a user on the Project, as RBAC evaluates them.
func evaluated(project *gardenerv1beta1.Project, objects []client.Object, who identity.Info) []string {
	roles, verbs := map[string]*rbacv1.ClusterRole{}, []string(nil)
	for _, object := range objects {
		if role, ok := object.(*rbacv1.ClusterRole); ok {
			roles[role.Name] = role
		}
	}
	for _, object := range objects {
		binding, ok := object.(*rbacv1.ClusterRoleBinding)
		if !ok || !slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return appliesTo(s, who) }) {
			continue
		}
		for _, rule := range roles[binding.RoleRef.Name].Rules {
			if slices.Contains(rule.APIGroups, gardenerv1beta1.GroupName) && slices.Contains(rule.Resources, "projects") &&
				slices.Contains(rule.ResourceNames, project.Name) {
				verbs = append(verbs, rule.Verbs...)
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

func appliesTo(s rbacv1.Subject, who identity.Info) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == who.GetName()
	case rbacv1.GroupKind:
		return slices.Contains(who.GetGroups(), s.Name)
	default:
		return s.Kind == rbacv1.ServiceAccountKind && "system:serviceaccount:"+s.Namespace+":"+s.Name == who.GetName()
	}
}

// TestMembershipAllowsWhatRolesAllow checks that the API server's decisions by membership are the same as those of RBAC with the
// roles of this controller.
func TestMembershipAllowsWhatRolesAllow(t *testing.T) {
	random := rand.New(rand.NewPCG(40, 1))
	subjects := []rbacv1.Subject{
		user("anna"), user("ben"), user("system:serviceaccount:ci:robot"),
		{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "staff"}, {APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "anna"},
		{Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "robot"}, {Kind: rbacv1.ServiceAccountKind, Namespace: "cd", Name: "robot"},
	}
	users := []identity.Info{
		&identity.DefaultInfo{Name: "anna"}, &identity.DefaultInfo{Name: "ben", Groups: []string{"staff"}}, &identity.DefaultInfo{Name: "cleo", Groups: []string{"anna", "staff"}},
		&identity.DefaultInfo{Name: "system:serviceaccount:ci:robot"}, &identity.DefaultInfo{Name: "system:serviceaccount:cd:robot"}, &identity.DefaultInfo{Name: "dora"},
	}
	roles := []string{"owner", "admin", "uam", "viewer", "serviceaccountmanager", "extension:deploy", "extension:viewer"}
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "manage-members", "manage-finalizers",
		"modify-spec-tolerations-whitelist", "modify-quota-labels"}
	allowed := map[string]int{}
	for range 2000 {
		project := testProject("dev")
		project.Spec.Owner, project.Spec.Members = nil, nil
		if random.IntN(4) > 0 {
			project.Spec.Owner = new(subjects[random.IntN(len(subjects))])
		}
		for range random.IntN(4) {
			member := gardenerv1beta1.ProjectMember{Subject: subjects[random.IntN(len(subjects))]}
			var some []string
			for range 1 + random.IntN(3) {
				some = append(some, roles[random.IntN(len(roles))])
			}
			member.SetRoles(some)
			project.Spec.Members = append(project.Spec.Members, member)
		}
		objects := desiredRBAC(project)
		for _, who := range users {
			want := evaluated(project, objects, who)
			for _, verb := range verbs {
				decided := verb
				if verb == "list" || verb == "watch" {
					decided = "get" // by membership they have the Projects that the user may get
				}
				got := membership.Allows(project, who, decided)
				if got != slices.Contains(want, verb) {
					t.Fatalf("%s by %q in %q: membership %v, roles %q; owner %v, members %+v", verb, who.GetName(), who.GetGroups(), got, want, project.Spec.Owner, project.Spec.Members)
				}
				if got {
					allowed[verb]++
				}
			}
		}
	}
	for _, verb := range []string{"get", "list", "watch", "update", "patch", "delete", "manage-members"} {
		if allowed[verb] == 0 {
			t.Errorf("no user was allowed to %s", verb)
		}
	}
}

// clusterScoped returns the cluster-scoped roles and bindings in the store.
func (c *cluster) clusterScoped() []string {
	c.t.Helper()
	var names []string
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{roles, bindings} {
		if err := c.store.List(c.t.Context(), list); err != nil {
			c.t.Fatal(err)
		}
	}
	for i := range roles.Items {
		names = append(names, describe(&roles.Items[i]))
	}
	for i := range bindings.Items {
		names = append(names, describe(&bindings.Items[i]))
	}
	slices.Sort(names)
	return names
}

// TestNewProjectByMembership checks that, with authorization by membership, a Project costs few writes and has no cluster-scoped
// objects.
func TestNewProjectByMembership(t *testing.T) {
	c := newCluster(t)
	c.reconciler.byMembership = true
	project := c.project("dev")
	if _, err := c.reconcile("dev"); err != nil {
		t.Fatal(err)
	}
	if requests := c.store.Count() + len(c.events()); requests > 7 {
		t.Errorf("%d writes with the event: %q", requests, c.store.Writes())
	}
	if found := c.clusterScoped(); len(found) > 0 {
		t.Errorf("cluster-scoped objects: %q", found)
	}
	if status := c.current("dev").Status; status.Phase != gardenerv1beta1.ProjectReady {
		t.Errorf("status %+v", status)
	}
	for _, name := range []string{namespaceRoleMember, namespaceRoleViewer, namespaceRoleServiceAccountManager} {
		if !c.exists(*project.Spec.Namespace, name, &rbacv1.RoleBinding{}) {
			t.Errorf("role binding %s is missing", name)
		}
	}
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("%d writes when nothing changed: %q", wrote, c.store.Writes())
	}
}

// TestExtensionRoleByMembership checks that all Projects share one ClusterRole per extension role.
func TestExtensionRoleByMembership(t *testing.T) {
	c := newCluster(t)
	c.reconciler.byMembership = true
	for _, name := range []string{"dev", "test"} {
		project := c.project(name, withMembers(member("bob", "extension:deploy")))
		c.settle(name)
		binding := &rbacv1.RoleBinding{}
		c.read(*project.Spec.Namespace, extensionRoleName(project, "deploy"), binding)
		if binding.RoleRef.Name != "gardener.cloud:extension:project-role:deploy" {
			t.Errorf("%s binds %q", name, binding.RoleRef.Name)
		}
	}
	want := []string{`cluster role "gardener.cloud:extension:project-role:deploy"`}
	if found := c.clusterScoped(); !slices.Equal(found, want) {
		t.Errorf("cluster-scoped objects: %q", found)
	}
	project := c.current("dev")
	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members, p.Generation = nil, 2 })
	c.settle("dev")
	if c.exists(*project.Spec.Namespace, extensionRoleName(project, "deploy"), &rbacv1.RoleBinding{}) {
		t.Error("the binding of an unused extension role remains")
	}
	if found := c.clusterScoped(); !slices.Equal(found, want) {
		t.Errorf("the role of another project was removed: %q", found)
	}
}

// TestChangeOfAuthorization checks that changing the mode deletes exactly the objects of the other mode, and that changing it back
// recreates them.
func TestChangeOfAuthorization(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "viewer", "extension:deploy")))
	// Objects with the same name that belong to another client or another Project.
	stranger := &rbacv1.ClusterRoleBinding{RoleRef: clusterRoleRef("theirs")}
	stranger.Name, stranger.Labels = roleViewer+":dev", map[string]string{gardenerv1beta1.LabelProjectName: "dev"}
	c.project("other")
	c.settle("dev")
	c.settle("other")
	before := c.clusterScoped()
	other := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return !strings.Contains(name, ":other\"") })
	binding := &rbacv1.ClusterRoleBinding{}
	c.read("", stranger.Name, binding)
	c.store.Remove(binding)
	c.store.Add(stranger)

	c.reconciler.byMembership = true
	c.settle("dev")
	want := append(slices.Clone(other), `cluster role "gardener.cloud:extension:project-role:deploy"`, `cluster role binding "`+stranger.Name+`"`)
	slices.Sort(want)
	if found := c.clusterScoped(); !slices.Equal(found, want) {
		t.Errorf("by membership: %q, want %q", found, want)
	}

	c.store.Remove(stranger)
	c.reconciler.byMembership = false
	c.settle("dev")
	want = append(slices.Clone(before), `cluster role "gardener.cloud:extension:project-role:deploy"`)
	slices.Sort(want)
	if found := c.clusterScoped(); !slices.Equal(found, want) {
		t.Errorf("by roles: %q, want %q", found, want)
	}
	ref := &rbacv1.RoleBinding{}
	if c.read(*project.Spec.Namespace, extensionRoleName(project, "deploy"), ref); ref.RoleRef.Name != extensionRoleName(project, "deploy") {
		t.Errorf("the extension role is %q", ref.RoleRef.Name)
	}
}

// TestPausedProjectLosesClusterRoles checks that a member who is removed while the Project is paused or being deleted loses the
// roles of the other mode, too.
func TestPausedProjectLosesClusterRoles(t *testing.T) {
	c := newCluster(t)
	project := c.project("dev", withMembers(member("bob", "admin")))
	c.settle("dev")
	change(c, project, func(p *gardenerv1beta1.Project) {
		p.Annotations = map[string]string{kit.AnnotationPaused: "true"}
	})
	c.reconciler.byMembership = true
	c.settle("dev")
	if found := c.clusterScoped(); len(found) > 0 {
		t.Errorf("cluster-scoped objects: %q", found)
	}
}
