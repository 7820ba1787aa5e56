// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package validation rejects Translations that the backend could never accept. Checks of a single field (a missing
// kind, a parent that is no UUID) is declared at the types and checked by generated code.
package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// ValidateTranslation checks a new Translation.
func ValidateTranslation(translation *midonetv1.Translation) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&translation.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateOwner(translation)...)
	return append(errs, validateResources(translation.Resources, field.NewPath("resources"))...)
}

// ValidateTranslationUpdate checks an update of a Translation. Unchanged resources are not validated again, so that thousands of bodies are
// not parsed because a label changed, and the finalizer of any stored object can be removed.
func ValidateTranslationUpdate(translation, old *midonetv1.Translation) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&translation.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	if !equality.Semantic.DeepEqual(translation.OwnerReferences, old.OwnerReferences) || isGlobal(translation) != isGlobal(old) {
		errs = append(errs, validateOwner(translation)...)
	}
	if !equality.Semantic.DeepEqual(translation.Resources, old.Resources) {
		errs = append(errs, validateResources(translation.Resources, field.NewPath("resources"))...)
	}
	return errs
}

// ValidateTranslationStatusUpdate checks a change of a Translation's status.
func ValidateTranslationStatusUpdate(translation, old *midonetv1.Translation) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&translation.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, metav1validation.ValidateConditions(translation.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// validateOwner rejects what would make the garbage collector keep a Translation for a second owner, or delete a
// global one with any.
func validateOwner(translation *midonetv1.Translation) field.ErrorList {
	owners := field.NewPath("metadata", "ownerReferences")
	switch count := len(translation.OwnerReferences); {
	case count > 0 && isGlobal(translation):
		return field.ErrorList{field.Forbidden(owners, "a Translation with the label "+midonetv1.LabelGlobal+
			" has no owner: remove the owner references, or the label")}
	case count > 1:
		return field.ErrorList{field.Invalid(owners, count,
			"a Translation has at most one owner: keep the object that was translated and remove the others")}
	default:
		return nil
	}
}

func isGlobal(translation *midonetv1.Translation) bool {
	_, global := translation.Labels[midonetv1.LabelGlobal]
	return global
}
