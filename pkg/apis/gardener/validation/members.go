// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// maxExtensionRoleLength bounds the name behind "extension:", as Gardener does.
const maxExtensionRoleLength = 20

func supportedRoles() []string {
	return []string{
		gardenerv1beta1.ProjectMemberOwner,
		gardenerv1beta1.ProjectMemberAdmin,
		gardenerv1beta1.ProjectMemberViewer,
		gardenerv1beta1.ProjectMemberUserAccessManager,
		gardenerv1beta1.ProjectMemberServiceAccountManager,
	}
}

func validateMembers(spec *gardenerv1beta1.ProjectSpec, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[rbacv1.Subject]()
	owner := spec.Owner
	for i := range spec.Members {
		member, path := &spec.Members[i], fldPath.Child("members").Index(i)
		errs = append(errs, validateSubject(member.Subject, path)...)
		errs = append(errs, validateRoles(member, path)...)
		if identity := gardenerv1beta1.Identity(member.Subject); seen.Has(identity) {
			errs = append(errs, field.Duplicate(path, member.Name))
		} else {
			seen.Insert(identity)
		}
		if member.HasRole(gardenerv1beta1.ProjectMemberOwner) {
			if owner == nil {
				owner = &member.Subject
			}
			if !gardenerv1beta1.SameSubject(*owner, member.Subject) {
				errs = append(errs, field.Forbidden(path.Child("roles"), "there can only be one owner, the one in spec.owner: to hand the project "+
					"over, change spec.owner"))
			}
		}
	}
	return errs
}

func validateRoles(member *gardenerv1beta1.ProjectMember, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	supported := sets.New(supportedRoles()...)
	for i, role := range member.AllRoles() {
		at := fldPath.Child("role")
		if i > 0 {
			at = fldPath.Child("roles").Index(i - 1)
		}
		extension, isExtension := strings.CutPrefix(role, gardenerv1beta1.ProjectMemberExtensionPrefix)
		switch {
		case !isExtension && !supported.Has(role):
			errs = append(errs, field.NotSupported(at, role, append(supportedRoles(), gardenerv1beta1.ProjectMemberExtensionPrefix+"*")))
		case isExtension && extension == "":
			errs = append(errs, field.Invalid(at, role, "the name of the extension is missing"))
		case isExtension && len(extension) > maxExtensionRoleLength:
			errs = append(errs, field.TooLong(at, role, len(gardenerv1beta1.ProjectMemberExtensionPrefix)+maxExtensionRoleLength))
		case isExtension:
			// Stricter than a path segment: the name is a label value of the ClusterRoles that the role aggregates.
			for _, message := range validation.IsValidLabelValue(extension) {
				errs = append(errs, field.Invalid(at, role, message))
			}
		}
	}
	return errs
}

// validateSubject checks what RBAC would reject in a binding, so that no accepted project fails there.
func validateSubject(subject rbacv1.Subject, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if subject.Name == "" {
		errs = append(errs, field.Required(fldPath.Child("name"), "name the user, group or service account"))
	}
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		if subject.Name != "" {
			for _, message := range apivalidation.ValidateServiceAccountName(subject.Name, false) {
				errs = append(errs, field.Invalid(fldPath.Child("name"), subject.Name, message))
			}
		}
		if subject.APIGroup != "" {
			errs = append(errs, field.NotSupported(fldPath.Child("apiGroup"), subject.APIGroup, []string{""}))
		}
		if subject.Namespace == "" {
			errs = append(errs, field.Required(fldPath.Child("namespace"), "a service account needs its namespace"))
		} else {
			for _, message := range validation.IsDNS1123Label(subject.Namespace) {
				errs = append(errs, field.Invalid(fldPath.Child("namespace"), subject.Namespace, message))
			}
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		if subject.APIGroup != rbacv1.GroupName {
			errs = append(errs, field.NotSupported(fldPath.Child("apiGroup"), subject.APIGroup, []string{rbacv1.GroupName}))
		}
		if subject.Namespace != "" {
			errs = append(errs, field.Forbidden(fldPath.Child("namespace"), "users and groups have no namespace"))
		}
	default:
		errs = append(errs, field.NotSupported(fldPath.Child("kind"), subject.Kind,
			[]string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}
