// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package customverbauthorizer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func human(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "garden-dev", Name: name}
}

// token returns the user that a token of a service account is authenticated as.
func token(name string) rbacv1.Subject { return human("system:serviceaccount:garden-dev:" + name) }

func member(subject rbacv1.Subject, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: subject}
	m.SetRoles(roles)
	return m
}

// stored returns the Project before each change: it belongs to olivia, anna is an admin, robot reads.
func stored() *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev"}, Spec: gardenerv1beta1.ProjectSpec{
		Owner: new(human("olivia")),
		Members: []gardenerv1beta1.ProjectMember{
			member(human("olivia"), "owner"), member(human("anna"), "admin", "viewer"), member(group("auditors"), "viewer"),
			member(account("robot"), "viewer"), member(account("boss"), "admin", "uam"),
		},
		Tolerations: &gardenerv1beta1.ProjectTolerations{Whitelist: []gardenerv1beta1.Toleration{{Key: "a"}, {Key: "b", Value: new("1")}}},
	}}
}

// with changes one member of the stored Project, or adds one.
func with(subject rbacv1.Subject, roles ...string) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		if i := p.Spec.MemberIndex(subject); i >= 0 {
			p.Spec.Members[i] = member(subject, roles...)
			return
		}
		p.Spec.Members = append(p.Spec.Members, member(subject, roles...))
	}
}

// without removes one member of the stored Project.
func without(subject rbacv1.Subject) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		i := p.Spec.MemberIndex(subject)
		p.Spec.Members = slices.Delete(p.Spec.Members, i, i+1)
	}
}

// handedTo returns what the server makes of a change of spec.owner.
func handedTo(subject rbacv1.Subject, roles ...string) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		p.Spec.Owner = &subject
		with(human("olivia"), "admin")(p)
		with(subject, roles...)(p)
	}
}

func all(changes ...func(*gardenerv1beta1.Project)) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		for _, change := range changes {
			change(p)
		}
	}
}

func whitelisted(list ...gardenerv1beta1.Toleration) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		p.Spec.Tolerations = &gardenerv1beta1.ProjectTolerations{Whitelist: list}
	}
}

var (
	someMember = need{gardenerv1beta1.VerbManageMembers, []string{"spec.members"}}
	theOwner   = need{gardenerv1beta1.VerbManageMembers, []string{"spec.owner"}}
	both       = need{gardenerv1beta1.VerbManageMembers, []string{"spec.owner", "spec.members"}}
	taints     = need{gardenerv1beta1.VerbModifyTolerationsWhitelist, []string{"spec.tolerations.whitelist"}}
)

func anna() user.Info   { return &user.DefaultInfo{Name: "anna", Groups: []string{"auditors"}} }
func olivia() user.Info { return &user.DefaultInfo{Name: "olivia"} }

func TestNeeds(t *testing.T) {
	protected := gardenerv1beta1.Toleration{Key: "seed.gardener.cloud/protected"}
	for _, tc := range []struct {
		name   string
		change func(*gardenerv1beta1.Project)
		want   []need
	}{
		{"nothing", all(), nil},
		{"what is not guarded", func(p *gardenerv1beta1.Project) {
			p.Labels, p.Spec.Description, p.Status.Phase = map[string]string{"a": "b"}, new("x"), "Ready"
			p.Spec.Tolerations.Defaults = []gardenerv1beta1.Toleration{{Key: "a"}}
		}, nil},
		{"the order of members", func(p *gardenerv1beta1.Project) { slices.Reverse(p.Spec.Members) }, nil},
		{"the order of roles", with(human("anna"), "viewer", "admin"), nil},
		{"the spelling of a service account", func(p *gardenerv1beta1.Project) { p.Spec.Members[3].Subject = token("robot") }, nil},
		{"the spelling of a user", func(p *gardenerv1beta1.Project) { p.Spec.Members[1].APIGroup = "" }, nil},

		{"a user comes", with(human("bob"), "viewer"), []need{someMember}},
		{"a user is removed", without(human("anna")), []need{someMember}},
		{"a user gets a role", with(human("anna"), "admin", "viewer", "uam"), []need{someMember}},
		{"a user gets the role of an extension", with(human("anna"), "admin", "viewer", "extension:x"), []need{someMember}},
		{"a user loses a role", with(human("anna"), "viewer"), []need{someMember}},
		{"a user gets another role", with(human("anna"), "admin", "uam"), []need{someMember}},
		{"a user in place of another", all(without(human("anna")), with(human("bob"), "admin", "viewer")), []need{someMember}},
		{"a group comes", with(group("ops"), "viewer"), []need{someMember}},
		{"a group is removed", without(group("auditors")), []need{someMember}},
		{"a group gets a role", with(group("auditors"), "viewer", "admin"), []need{someMember}},
		{"a group becomes a user of its name", all(without(group("auditors")), with(human("auditors"), "viewer")), []need{someMember}},
		{"all members are removed", func(p *gardenerv1beta1.Project) { p.Spec.Members = nil }, []need{someMember}},

		{"a service account comes", with(account("new"), "viewer"), nil},
		{"a service account comes as the user of its token", with(token("new"), "viewer"), nil},
		{"a service account manages service accounts", with(account("new"), "serviceaccountmanager"), []need{someMember}},
		{"a service account manages service accounts as the user of its token", with(token("new"), "serviceaccountmanager"), []need{someMember}},
		{"a service account gets the role of an extension", with(account("robot"), "viewer", "extension:x"), []need{someMember}},
		{"a service account gets a role that is not known", with(account("robot"), "viewer", "new"), []need{someMember}},
		{"a service account comes as admin", with(account("new"), "admin"), []need{someMember}},
		{"a service account comes as admin, among other roles", with(account("new"), "viewer", "extension:x", "admin"), []need{someMember}},
		{"a service account gets uam", with(account("robot"), "viewer", "uam"), []need{someMember}},
		{"a service account gets uam as the user of its token", with(token("new"), "uam"), []need{someMember}},
		{"a service account gets owner", with(account("robot"), "owner"), []need{someMember}},
		{"a service account keeps its roles", with(account("boss"), "uam", "admin"), nil},
		{"a service account loses a role", with(account("boss"), "uam"), nil},
		{"a service account is removed", without(account("boss")), nil},
		{"a user whose name only looks like that of a service account", with(human("system:serviceaccount:boss"), "viewer"), []need{someMember}},

		{"whitelist: another value", whitelisted(gardenerv1beta1.Toleration{Key: "a"}, gardenerv1beta1.Toleration{Key: "b", Value: new("2")}), []need{taints}},
		{"whitelist: any value", whitelisted(gardenerv1beta1.Toleration{Key: "a"}, gardenerv1beta1.Toleration{Key: "b"}), []need{taints}},
		{"whitelist: one more", func(p *gardenerv1beta1.Project) {
			p.Spec.Tolerations.Whitelist = append(p.Spec.Tolerations.Whitelist, protected)
		}, []need{taints}},
		{"whitelist: one less", whitelisted(gardenerv1beta1.Toleration{Key: "a"}), []need{taints}},
		{"whitelist: none", func(p *gardenerv1beta1.Project) { p.Spec.Tolerations = nil }, []need{taints}},

		{"whitelist and members", all(whitelisted(), with(human("bob"), "viewer")), []need{taints, someMember}},
		{"whitelist and owner", all(whitelisted(), handedTo(human("anna"), "admin", "viewer", "owner")), []need{taints, theOwner}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, project := stored(), stored()
			tc.change(project)
			if diff := cmp.Diff(tc.want, needs(old, project, anna()), cmp.AllowUnexported(need{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(stored(), old); diff != "" {
				t.Errorf("the old object changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNeedsToCreate(t *testing.T) {
	full := stored()
	full.Spec.Tolerations = nil
	garden := &gardenerv1beta1.Project{Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden")}}
	gardenerv1beta1.NormalizeProject(garden)
	for _, tc := range []struct {
		name    string
		project *gardenerv1beta1.Project
		want    []need
	}{
		{"nothing", &gardenerv1beta1.Project{}, nil},
		{"members, and another owner than the creator", full, nil},
		{"an empty whitelist", &gardenerv1beta1.Project{Spec: gardenerv1beta1.ProjectSpec{Tolerations: &gardenerv1beta1.ProjectTolerations{}}}, nil},
		{"a whitelist", stored(), []need{taints}},
		{"the garden project, whose whitelist the server fills", garden, []need{taints}},
	} {
		if diff := cmp.Diff(tc.want, needs(nil, tc.project, anna()), cmp.AllowUnexported(need{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
