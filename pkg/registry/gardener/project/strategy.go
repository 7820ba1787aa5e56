// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// prepareForCreate chooses the namespace when the Project names none, so that its name is claimed in the
// transaction that creates the Project.
func prepareForCreate(p *gardenerv1beta1.Project) {
	if p.NamespaceName() == "" {
		p.Spec.Namespace = new(gardenerv1beta1.GeneratedNamespace(p.Name, p.UID))
	}
	gardenerv1beta1.NormalizeProject(p)
	setOwnerRole(&p.Spec, nil)
}

// prepareForUpdate carries over what the server decided once: a manifest that is replaced as written lacks it.
func prepareForUpdate(p, old *gardenerv1beta1.Project) {
	if p.NamespaceName() == "" {
		p.Spec.Namespace = old.Spec.Namespace
	}
	if p.Spec.CreatedBy == nil {
		p.Spec.CreatedBy = old.Spec.CreatedBy.DeepCopy()
	}
	if p.Spec.Owner == nil {
		keepOwner(&p.Spec, &old.Spec)
	}
	gardenerv1beta1.NormalizeProject(p)
	setOwnerRole(&p.Spec, old.Spec.Owner)
}

// keepOwner carries the owner over, and with the owner the member that the server added: a manifest that names no owner
// need not list one.
func keepOwner(spec, old *gardenerv1beta1.ProjectSpec) {
	spec.Owner = old.Owner.DeepCopy()
	if spec.Owner == nil || spec.MemberIndex(*spec.Owner) >= 0 {
		return
	}
	if i := old.MemberIndex(*spec.Owner); i >= 0 {
		spec.Members = append(spec.Members, *old.Members[i].DeepCopy())
	}
}

// setOwnerRole gives the member that spec.owner names the role owner. When the project was handed over, the owner of before loses
// the role and keeps at least that of an admin. Any other member with the role is left for validation to reject.
func setOwnerRole(spec *gardenerv1beta1.ProjectSpec, before *rbacv1.Subject) {
	if spec.Owner == nil {
		return
	}
	if before != nil && !gardenerv1beta1.SameSubject(*before, *spec.Owner) {
		if i := spec.MemberIndex(*before); i >= 0 {
			dropOwnerRole(&spec.Members[i])
		}
	}
	if i := spec.MemberIndex(*spec.Owner); i >= 0 && !spec.Members[i].HasRole(gardenerv1beta1.ProjectMemberOwner) {
		spec.Members[i].SetRoles(append(spec.Members[i].AllRoles(), gardenerv1beta1.ProjectMemberOwner))
	}
}

func dropOwnerRole(member *gardenerv1beta1.ProjectMember) {
	if !member.HasRole(gardenerv1beta1.ProjectMemberOwner) {
		return
	}
	roles := slices.DeleteFunc(member.AllRoles(), func(role string) bool { return role == gardenerv1beta1.ProjectMemberOwner })
	if !slices.Contains(roles, gardenerv1beta1.ProjectMemberAdmin) {
		roles = append(roles, gardenerv1beta1.ProjectMemberAdmin)
	}
	member.SetRoles(roles)
}
