// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package customverbauthorizer

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// need is a verb and the fields for which it is needed.
type need struct {
	verb    string
	changes []string
}

// needs returns the verbs that a user needs for a change; old is nil when the Project is created. A user who may create
// Projects sets the members of a new one, because it has none yet to protect.
func needs(old, project *gardenerv1beta1.Project, who user.Info) []need {
	var all []need
	if changesWhitelist(old, project) {
		all = append(all, need{gardenerv1beta1.VerbModifyTolerationsWhitelist, []string{"spec.tolerations.whitelist"}})
	}
	if old == nil {
		return all
	}
	var changes []string
	if takesOwnership(old, project, who) {
		changes = append(changes, "spec.owner")
	}
	if changesMembers(&old.Spec, &project.Spec) {
		changes = append(changes, "spec.members")
	}
	if len(changes) > 0 {
		all = append(all, need{gardenerv1beta1.VerbManageMembers, changes})
	}
	return all
}

// changesWhitelist compares the whitelists. That of the garden project, which the server fills in, counts too, so that a
// Project does not become the garden project, whose clusters may use protected seeds, because of an incomplete manifest.
func changesWhitelist(old, project *gardenerv1beta1.Project) bool {
	return !apiequality.Semantic.DeepEqual(whitelist(old), whitelist(project))
}

func whitelist(project *gardenerv1beta1.Project) []gardenerv1beta1.Toleration {
	if project == nil || project.Spec.Tolerations == nil {
		return nil
	}
	return project.Spec.Tolerations.Whitelist
}

// takesOwnership reports whether a user other than the owner transfers the ownership.
func takesOwnership(old, project *gardenerv1beta1.Project, who user.Info) bool {
	before, now := old.Spec.Owner, project.Spec.Owner
	switch {
	case now == nil:
		return before != nil
	case before == nil:
		return true
	default:
		return !gardenerv1beta1.SameSubject(*before, *now) && !gardenerv1beta1.Matches(before, who.GetName(), who.GetGroups())
	}
}

// grant is one role of one subject.
type grant struct {
	subject rbacv1.Subject
	role    string
}

// changesMembers reports whether a subject gets or loses a role for which manage-members is needed. The order of members
// and of roles, and the spelling of a subject, mean nothing.
func changesMembers(old, spec *gardenerv1beta1.ProjectSpec) bool {
	before, now := grants(old), grants(spec)
	for change := range now.Difference(before) {
		if isGuarded(change, true) && !followsFromOwner(change, old, spec) {
			return true
		}
	}
	for change := range before.Difference(now) {
		if isGuarded(change, false) && !leavesWithOwnership(change, old, spec) {
			return true
		}
	}
	return false
}

func grants(spec *gardenerv1beta1.ProjectSpec) sets.Set[grant] {
	all := sets.New[grant]()
	for i := range spec.Members {
		subject := gardenerv1beta1.Identity(spec.Members[i].Subject)
		for _, role := range spec.Members[i].AllRoles() {
			all.Insert(grant{subject, role})
		}
	}
	return all
}

// isGuarded reports whether granting or revoking a role needs manage-members: always for users, and for a service account when
// the role is more than read-only. A user who is allowed to write Secrets or Pods in the namespace of an account can act as
// that account and therefore has its role; the permissions of an extension role are unknown here.
func isGuarded(g grant, given bool) bool {
	if g.subject.Kind != rbacv1.ServiceAccountKind {
		return true
	}
	return given && g.role != gardenerv1beta1.ProjectMemberViewer
}

// followsFromOwner reports whether the server itself gives a role because of spec.owner, whose change takesOwnership
// judges: the owner is an owner, and an admin when that makes it a member; who was the owner stays an admin.
func followsFromOwner(given grant, old, spec *gardenerv1beta1.ProjectSpec) bool {
	switch {
	case spec.Owner == nil:
		return false
	case given.subject == gardenerv1beta1.Identity(*spec.Owner):
		return given.role == gardenerv1beta1.ProjectMemberOwner ||
			given.role == gardenerv1beta1.ProjectMemberAdmin && old.MemberIndex(*spec.Owner) < 0
	default:
		return given.role == gardenerv1beta1.ProjectMemberAdmin && wasOwner(given.subject, old, spec)
	}
}

// leavesWithOwnership reports whether the server itself takes a role because spec.owner changed.
func leavesWithOwnership(taken grant, old, spec *gardenerv1beta1.ProjectSpec) bool {
	return taken.role == gardenerv1beta1.ProjectMemberOwner && wasOwner(taken.subject, old, spec)
}

// wasOwner reports whether a subject was the owner, and no longer is.
func wasOwner(subject rbacv1.Subject, old, spec *gardenerv1beta1.ProjectSpec) bool {
	return old.Owner != nil && subject == gardenerv1beta1.Identity(*old.Owner) &&
		(spec.Owner == nil || !gardenerv1beta1.SameSubject(*old.Owner, *spec.Owner))
}
