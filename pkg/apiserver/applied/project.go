// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// normalizeProject brings the owner and the members of a Project to the form in which they are stored, as
// gardenerv1beta1.NormalizeProject does, and reports whether anything was changed. It changes nothing else: a field that a
// manifest leaves out is not its manager's.
func normalizeProject(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	owner, _ := spec["owner"].(map[string]any)
	changed := owner != nil && defaultAPIGroup(owner)
	members, _ := spec["members"].([]any)
	for _, each := range members {
		member, ok := each.(map[string]any)
		if !ok {
			continue
		}
		grouped, spelled := defaultAPIGroup(member), normalizeRoles(member)
		changed = changed || grouped || spelled
	}
	return changed
}

// defaultAPIGroup gives a subject the API group that follows from its kind.
func defaultAPIGroup(subject map[string]any) bool {
	if group, found := subject["apiGroup"]; found && group != "" && group != nil {
		return false
	}
	if kind := subject["kind"]; kind != rbacv1.UserKind && kind != rbacv1.GroupKind {
		return false
	}
	subject["apiGroup"] = rbacv1.GroupName
	return true
}

// normalizeRoles spells the roles of a member as they are stored: the first one as role, the others as roles.
func normalizeRoles(member map[string]any) bool {
	role, isRole := member["role"].(string)
	list, isList := member["roles"].([]any)
	if member["role"] != nil && !isRole || member["roles"] != nil && !isList {
		return false // of another type: it is refused
	}
	typed := gardenerv1beta1.ProjectMember{Role: role}
	for _, each := range list {
		name, ok := each.(string)
		if !ok {
			return false
		}
		typed.Roles = append(typed.Roles, name)
	}
	before := typed.Roles
	typed.SetRoles(typed.AllRoles())
	_, hasList := member["roles"]
	if typed.Role == role && isRole && slices.Equal(typed.Roles, before) && hasList == (len(typed.Roles) > 0) {
		return false
	}
	member["role"] = typed.Role
	delete(member, "roles")
	if len(typed.Roles) > 0 {
		roles := make([]any, 0, len(typed.Roles))
		for _, name := range typed.Roles {
			roles = append(roles, name)
		}
		member["roles"] = roles
	}
	return true
}
