// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package projectmutator is the admission plugin that records who created a Project and who owns it.
package projectmutator

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "ProjectMutator"

// New returns the plugin.
func New() admission.MutationInterface {
	return plugin{admission.NewHandler(admission.Create, admission.Update)}
}

type plugin struct{ *admission.Handler }

var _ admission.MutationInterface = plugin{}

// Admit sets spec.createdBy to the user, chooses an owner when there is none, and makes the owner a member.
func (plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != gardenerv1beta1.Resource("projects") || a.GetSubresource() != "" {
		return nil
	}
	project, ok := a.GetObject().(*gardenerv1beta1.Project)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T is not a Project", a.GetObject()))
	}
	if a.GetOperation() == admission.Create {
		project.Spec.CreatedBy = new(subjectOf(a.GetUserInfo()))
		if project.Spec.Owner == nil {
			project.Spec.Owner = new(firstOwner(&project.Spec))
		}
	}
	addOwnerToMembers(&project.Spec)
	return nil
}

// subjectOf returns the subject that RBAC knows a user by.
func subjectOf(info user.Info) rbacv1.Subject {
	if namespace, name, err := serviceaccount.SplitUsername(info.GetName()); err == nil {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: info.GetName()}
}

// firstOwner returns the first member with the role owner, else the creator.
func firstOwner(spec *gardenerv1beta1.ProjectSpec) rbacv1.Subject {
	for i := range spec.Members {
		if spec.Members[i].HasRole(gardenerv1beta1.ProjectMemberOwner) {
			return spec.Members[i].Subject
		}
	}
	return *spec.CreatedBy
}

// addOwnerToMembers makes an owner who is not a member one.
func addOwnerToMembers(spec *gardenerv1beta1.ProjectSpec) {
	if spec.Owner == nil || spec.MemberIndex(*spec.Owner) >= 0 {
		return
	}
	member := gardenerv1beta1.ProjectMember{Subject: *spec.Owner}
	member.SetRoles([]string{gardenerv1beta1.ProjectMemberAdmin, gardenerv1beta1.ProjectMemberOwner})
	spec.Members = append(spec.Members, member)
}
