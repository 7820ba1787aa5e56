// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package customverbauthorizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestNeedsToHandOver checks that the owner may hand over a Project without a verb, and that the resulting changes of roles by the
// server are not considered changes of members.
func TestNeedsToHandOver(t *testing.T) {
	ofGroup := func(p *gardenerv1beta1.Project) { p.Spec.Owner = new(group("auditors")) }
	ofAccount := func(p *gardenerv1beta1.Project) { p.Spec.Owner = new(account("boss")) }
	ofToken := func(p *gardenerv1beta1.Project) { p.Spec.Owner = new(token("boss")) }
	withoutOwner := func(p *gardenerv1beta1.Project) { p.Spec.Owner = nil }
	boss := &user.DefaultInfo{Name: "system:serviceaccount:garden-dev:boss"}
	owner := func(subject rbacv1.Subject) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) { p.Spec.Owner = &subject }
	}
	for _, tc := range []struct {
		name        string
		who         user.Info
		old, change func(*gardenerv1beta1.Project)
		want        []need
	}{
		{"by the owner, to a member", olivia(), all(), handedTo(human("anna"), "admin", "viewer", "owner"), nil},
		{"by the owner, to a new user", olivia(), all(), handedTo(human("bob"), "admin", "owner"), nil},
		{"by the owner, to a new service account", olivia(), all(), handedTo(account("new"), "admin", "owner"), nil},
		{"by the owner, to a service account that is a member", olivia(), all(), handedTo(account("robot"), "viewer", "owner"), nil},
		{"by the owner, with more roles for a new user", olivia(), all(), handedTo(human("bob"), "admin", "owner", "uam"), []need{someMember}},
		{"by the owner, with more for a member", olivia(), all(with(human("anna"), "viewer")), handedTo(human("anna"), "viewer", "owner", "admin"), []need{someMember}},
		{"by the owner, who leaves", olivia(), all(with(human("olivia"), "owner", "admin")), all(owner(human("anna")), with(human("anna"), "admin", "viewer", "owner"),
			without(human("olivia"))), []need{someMember}},
		{"by the owner, and another user is added", olivia(), all(), all(handedTo(human("anna"), "admin", "viewer", "owner"), with(human("bob"), "viewer")), []need{someMember}},
		{"by another member, to itself", anna(), all(), handedTo(human("anna"), "admin", "viewer", "owner"), []need{theOwner}},
		{"by another member, to itself, who becomes one", &user.DefaultInfo{Name: "mallory"}, all(), handedTo(human("mallory"), "admin", "owner"), []need{theOwner}},
		{"by another member, with more", anna(), all(), handedTo(human("anna"), "admin", "viewer", "owner", "uam"), []need{both}},
		{"to the owner, spelled another way", anna(), all(), owner(rbacv1.Subject{Kind: "User", Name: "olivia"}), nil},
		{"to a group called as the owner", anna(), all(), handedTo(group("olivia"), "admin", "owner"), []need{theOwner}},
		{"by a member of the group that owns", anna(), ofGroup, owner(human("anna")), nil},
		{"by a user outside the owning group", olivia(), ofGroup, owner(human("olivia")), []need{theOwner}},
		{"by a user called as the group that owns", &user.DefaultInfo{Name: "auditors"}, ofGroup, owner(human("olivia")), []need{theOwner}},
		{"by the service account that owns", boss, ofAccount, owner(human("anna")), nil},
		{"by the service account that owns as the user of its token", boss, ofToken, owner(human("anna")), nil},
		{"by a user called as the service account that owns", &user.DefaultInfo{Name: "boss"}, ofAccount, owner(human("anna")), []need{theOwner}},
		{"the first owner", olivia(), withoutOwner, owner(human("olivia")), []need{theOwner}},
		{"still no owner", olivia(), withoutOwner, withoutOwner, nil},
		{"to no owner", olivia(), all(), withoutOwner, []need{theOwner}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old := stored()
			tc.old(old)
			project := old.DeepCopy()
			tc.change(project)
			if diff := cmp.Diff(tc.want, needs(old, project, tc.who), cmp.AllowUnexported(need{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The server makes the owner of an imported Project a member at the first write by any user.
func TestNeedsWhenTheOwnerBecomesAMember(t *testing.T) {
	for _, subject := range []rbacv1.Subject{human("olivia"), group("owners"), account("new")} {
		old := stored()
		without(human("olivia"))(old)
		old.Spec.Owner = &subject
		project := old.DeepCopy()
		with(subject, "admin", "owner")(project)
		if got := needs(old, project, anna()); len(got) > 0 {
			t.Errorf("%s %s: needs %v", subject.Kind, subject.Name, got)
		}
		with(subject, "admin", "owner", "uam")(project)
		if diff := cmp.Diff([]need{someMember}, needs(old, project, anna()), cmp.AllowUnexported(need{})); diff != "" {
			t.Errorf("%s %s, with more (-want +got):\n%s", subject.Kind, subject.Name, diff)
		}
	}
}
