// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

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

// lacksOwner reports whether a manifest lists members and the owner is none of them, or not with the role owner: then the
// server added one or the other to what is stored. It is true as well when the manifest names no owner.
func lacksOwner(object map[string]any) bool {
	spec, ok := membersOf(object)
	if !ok {
		return false
	}
	if spec.Owner == nil {
		return true
	}
	i := spec.MemberIndex(*spec.Owner)
	return i < 0 || !spec.Members[i].HasRole(gardenerv1beta1.ProjectMemberOwner)
}

// addOwner adds to the members of a manifest what the server added to those that are stored: the owner, or the role owner.
// A manifest that names another owner than the stored one hands the Project over, and remains unchanged.
func addOwner(object map[string]any, stored *gardenerv1beta1.ProjectSpec) bool {
	spec, ok := membersOf(object)
	if !ok || stored.Owner == nil || spec.Owner != nil && !gardenerv1beta1.SameSubject(*spec.Owner, *stored.Owner) {
		return false
	}
	at := stored.MemberIndex(*stored.Owner)
	if at < 0 {
		return false
	}
	members := object["spec"].(map[string]any)["members"].([]any)
	if i := spec.MemberIndex(*stored.Owner); i >= 0 {
		if spec.Members[i].HasRole(gardenerv1beta1.ProjectMemberOwner) {
			return false
		}
		member := members[i].(map[string]any)
		roles, _ := member["roles"].([]any)
		member["roles"] = append(roles, gardenerv1beta1.ProjectMemberOwner)
		normalizeRoles(member)
		return true
	}
	member, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&stored.Members[at])
	if err != nil {
		return false
	}
	object["spec"].(map[string]any)["members"] = append(members, member)
	return true
}

// membersOf reads the owner and the members of a manifest; false when it lists no members, or some that are not valid.
func membersOf(object map[string]any) (*gardenerv1beta1.ProjectSpec, bool) {
	spec, _ := object["spec"].(map[string]any)
	if _, ok := spec["members"].([]any); !ok {
		return nil, false
	}
	typed := &gardenerv1beta1.ProjectSpec{}
	fields := map[string]any{"members": spec["members"], "owner": spec["owner"]}
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, typed) == nil
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

// normalizeRoles spells the roles of a member in their stored form: the first one as role, the others as roles.
func normalizeRoles(member map[string]any) bool {
	role, isRole := member["role"].(string)
	list, isList := member["roles"].([]any)
	if member["role"] != nil && !isRole || member["roles"] != nil && !isList {
		return false // of another type: it is rejected
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
