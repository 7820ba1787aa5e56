// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package membership authorizes requests for Projects by the members of the Project, without ClusterRoles for each Project
// (--project-authorization=membership).
//
// # Overview
//
// kube-apiserver authorizes a request before it forwards it. In this mode, one ClusterRoleBinding allows every authenticated user to access
// Projects, and Groundskeeper's API server restricts these permissions:
//
//   - The role of a member in a Project determines the allowed verbs. They are those of the ClusterRoles that the controller writes in the
//     other mode.
//   - A list or a watch has only the Projects that the user is allowed to get.
//   - A request for Projects of which the user is not a member needs the same verb on projects/any, which RBAC decides. No such
//     subresource is served. A rule for all resources of the group includes it, as it includes projects.
//   - Everything else is decided by RBAC alone: the creation of Projects, their status, and the custom verbs that no member has.
//
// # Soundness
//
// The restriction never adds permissions: what RBAC does not allow is not allowed. It is applied twice. The authorizer decides about
// a request with the Project in the watch cache, before anything of the request is processed, so that a Project that exists and one
// that does not have the same error. The storage decides again with the very object that is returned, changed or
// deleted, so that a server whose watch cache is behind allows nothing that the stored Project does not allow; custom
// verbs that admission requires for a change are decided with it, too. Lists and
// watches are filtered by the storage: a change of the members is an ADDED or a DELETED in the order of all changes.
//
// If RBAC is unavailable, a list fails, because a client would treat the Projects that are missing in a partial list as deleted.
package membership

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const (
	resource = "projects"
	// Any is the subresource of projects that stands for the Projects of others in permissions.
	Any = "any"
)

// grants are the roles of members that allow a verb on the Project. The owner of the Project has all of these verbs.
var grants = map[string][]string{
	"get": {
		gardenerv1beta1.ProjectMemberOwner, gardenerv1beta1.ProjectMemberAdmin,
		gardenerv1beta1.ProjectMemberUserAccessManager, gardenerv1beta1.ProjectMemberViewer,
	},
	"update":                          {gardenerv1beta1.ProjectMemberOwner, gardenerv1beta1.ProjectMemberAdmin, gardenerv1beta1.ProjectMemberUserAccessManager},
	"patch":                           {gardenerv1beta1.ProjectMemberOwner, gardenerv1beta1.ProjectMemberAdmin, gardenerv1beta1.ProjectMemberUserAccessManager},
	"delete":                          {gardenerv1beta1.ProjectMemberOwner, gardenerv1beta1.ProjectMemberAdmin},
	gardenerv1beta1.VerbManageMembers: {gardenerv1beta1.ProjectMemberUserAccessManager},
}

// IsRestricted reports whether a request is one that RBAC allows everybody in this mode: membership decides about it.
func IsRestricted(request authorizer.Attributes) bool {
	if !request.IsResourceRequest() || request.GetAPIGroup() != gardenerv1beta1.GroupName ||
		request.GetResource() != resource || request.GetSubresource() != "" {
		return false
	}
	_, granted := grants[request.GetVerb()]
	return granted || isFiltered(request) || request.GetVerb() == "deletecollection"
}

// Decide decides about a request for a Project by its members, nil if it does not exist: an Allow; a Deny, also
// about a Project that does not exist; or no opinion about requests that others decide.
func Decide(request authorizer.Attributes, project *gardenerv1beta1.Project) authorizer.Decision {
	switch {
	case !IsRestricted(request):
		return authorizer.DecisionNoOpinion
	case project != nil && Allows(project, request.GetUser(), request.GetVerb()):
		return authorizer.DecisionAllow
	default:
		return authorizer.DecisionDeny
	}
}

// Allows reports whether a user has a verb on a Project because the user is its owner or one of its members.
func Allows(project *gardenerv1beta1.Project, who user.Info, verb string) bool {
	roles, granted := grants[verb]
	if !granted || who == nil {
		return false
	}
	if owner := project.Spec.Owner; owner != nil && is(who, owner) {
		return true
	}
	return slices.ContainsFunc(project.Spec.Members, func(member gardenerv1beta1.ProjectMember) bool {
		return slices.ContainsFunc(roles, member.HasRole) && is(who, &member.Subject)
	})
}

// is reports whether a user is a subject or belongs to it.
func is(who user.Info, subject *rbacv1.Subject) bool {
	return gardenerv1beta1.Matches(subject, who.GetName(), who.GetGroups())
}
