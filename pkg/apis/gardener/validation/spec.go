// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// dualApprovalResources can require a second person to delete them.
func dualApprovalResources() []string { return []string{"klusters", "shoots"} }

// validateSpec checks a spec. Free texts that equal those of old are not checked again.
func validateSpec(spec, old *gardenerv1beta1.ProjectSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateMembers(spec, path)...)
	if spec.CreatedBy != nil {
		errs = append(errs, validateSubject(*spec.CreatedBy, path.Child("createdBy"))...)
	}
	if spec.Owner != nil {
		errs = append(errs, validateSubject(*spec.Owner, path.Child("owner"))...)
	}
	var oldDescription, oldPurpose *string
	if old != nil {
		oldDescription, oldPurpose = old.Description, old.Purpose
	}
	errs = append(errs, validateText(spec.Description, oldDescription, path.Child("description"))...)
	errs = append(errs, validateText(spec.Purpose, oldPurpose, path.Child("purpose"))...)
	if spec.Tolerations != nil {
		errs = append(errs, validateTolerations(*spec.Tolerations, path.Child("tolerations"))...)
	}
	return append(errs, validateDualApprovals(spec.DualApprovalForDeletion, path.Child("dualApprovalForDeletion"))...)
}

func validateText(text, old *string, path *field.Path) field.ErrorList {
	switch {
	case text == nil, old != nil && *old == *text:
		return nil
	case *text == "":
		return field.ErrorList{field.Required(path, "must provide a "+lastName(path)+" when key is present")}
	}
	if i := strings.IndexFunc(*text, func(r rune) bool { return !allowedInText(r) }); i >= 0 {
		return field.ErrorList{field.Invalid(path, *text, `may only contain letters, digits, spaces and .,:-_/\`)}
	}
	return nil
}

func allowedInText(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || unicode.Is(unicode.Zs, r) || strings.ContainsRune(`.,:-_/\`, r)
}

func lastName(path *field.Path) string {
	s := path.String()
	return s[strings.LastIndexByte(s, '.')+1:]
}

func validateTolerations(tolerations gardenerv1beta1.ProjectTolerations, path *field.Path) field.ErrorList {
	allowed := sets.New[string]()
	errs := validateTolerationList(tolerations.Whitelist, path.Child("whitelist"),
		func(t gardenerv1beta1.Toleration, _ *field.Path) *field.Error {
			allowed.Insert(tolerationID(t))
			return nil
		})
	return append(errs, validateTolerationList(tolerations.Defaults, path.Child("defaults"),
		func(t gardenerv1beta1.Toleration, path *field.Path) *field.Error {
			if allowed.HasAny(tolerationID(t), t.Key) {
				return nil
			}
			return field.Forbidden(path, "only tolerations of the whitelist can be defaults: add it there")
		})...)
}

func validateTolerationList(
	list []gardenerv1beta1.Toleration, path *field.Path, check func(gardenerv1beta1.Toleration, *field.Path) *field.Error,
) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, toleration := range list {
		path := path.Index(i)
		if toleration.Key == "" {
			errs = append(errs, field.Required(path.Child("key"), "name the taint"))
		} else {
			errs = append(errs, validation.ValidateLabelName(toleration.Key, path.Child("key"))...)
		}
		if toleration.Value != nil {
			for _, message := range utilvalidation.IsValidLabelValue(*toleration.Value) {
				errs = append(errs, field.Invalid(path.Child("value"), *toleration.Value, message))
			}
		}
		if id := tolerationID(toleration); seen.HasAny(id, toleration.Key) {
			errs = append(errs, field.Duplicate(path, id))
		} else {
			seen.Insert(id)
		}
		if err := check(toleration, path); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// tolerationID returns the key alone for a toleration of every value.
func tolerationID(t gardenerv1beta1.Toleration) string {
	if t.Value == nil {
		return t.Key
	}
	return t.Key + "=" + *t.Value
}

func validateDualApprovals(approvals []gardenerv1beta1.DualApprovalForDeletion, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, approval := range approvals {
		path := path.Index(i)
		if !slices.Contains(dualApprovalResources(), approval.Resource) {
			errs = append(errs, field.NotSupported(path.Child("resource"), approval.Resource, dualApprovalResources()))
		}
		errs = append(errs, validation.ValidateLabelSelector(&approval.Selector, validation.LabelSelectorValidationOptions{},
			path.Child("selector"))...)
	}
	return errs
}
