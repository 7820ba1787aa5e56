// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package validation defines which Projects the server accepts. Where Gardener has a message for a mistake, it is
// the message here too.
package validation

import (
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// MaxGeneratedNameLength is the longest name of a Project whose namespace is generated: "garden-", the name, a dash
// and five digits must fit a DNS label of 63.
const MaxGeneratedNameLength = 50

// ValidateProject checks a new Project.
func ValidateProject(project *gardenerv1beta1.Project) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateName(project)
	// A generated namespace is as valid as the name. The user did not set it, so it is not reported.
	if explicitNamespace(project.Spec.Namespace, project.Name, project.UID) {
		errs = append(errs, validateNamespace(*project.Spec.Namespace, spec.Child("namespace"))...)
	}
	return append(errs, validateSpec(&project.Spec, nil, spec)...)
}

// ValidateProjectUpdate checks a change of a Project. A spec that does not change is never an obstacle, so that any
// stored Project can get or lose a finalizer. Texts that were accepted once stay acceptable.
func ValidateProjectUpdate(project, old *gardenerv1beta1.Project) field.ErrorList {
	if apiequality.Semantic.DeepEqual(project.Spec, old.Spec) {
		return nil
	}
	spec := field.NewPath("spec")
	errs := validateSpec(&project.Spec, &old.Spec, spec)
	switch namespace := spec.Child("namespace"); {
	case old.NamespaceName() != "":
		errs = append(errs, apivalidation.ValidateImmutableField(project.Spec.Namespace, old.Spec.Namespace, namespace)...)
	case project.Spec.Namespace != nil:
		errs = append(errs, validateNamespace(*project.Spec.Namespace, namespace)...)
	}
	if old.Spec.CreatedBy != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(project.Spec.CreatedBy, old.Spec.CreatedBy, spec.Child("createdBy"))...)
	}
	if old.Spec.Owner != nil && project.Spec.Owner == nil {
		errs = append(errs, field.Invalid(spec.Child("owner"), project.Spec.Owner, "owner cannot be reset"))
	}
	return errs
}

// ValidateProjectStatusUpdate checks a change of a Project's status.
func ValidateProjectStatusUpdate(project, old *gardenerv1beta1.Project) field.ErrorList {
	if old.Status.Phase != "" && project.Status.Phase == "" {
		return field.ErrorList{field.Forbidden(field.NewPath("status", "phase"), "phase cannot be updated to an empty string")}
	}
	return nil
}

// validateName checks the name against the namespace: a name that is part of a generated namespace and of labels
// must be short and have no dots.
func validateName(project *gardenerv1beta1.Project) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "name")
	name := project.Name
	if strings.Contains(name, "--") {
		errs = append(errs, field.Invalid(path, name, "name may not contain two consecutive hyphens"))
	}
	if explicitNamespace(project.Spec.Namespace, name, project.UID) {
		for _, message := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(path, name, message))
		}
		if len(name) > validation.LabelValueMaxLength {
			errs = append(errs, field.TooLong(path, name, validation.LabelValueMaxLength))
		}
		return errs
	}
	for _, message := range validation.IsDNS1123Label(name) {
		if strings.Contains(name, ".") {
			message += "; if spec.namespace is set, the name may have dots"
		}
		errs = append(errs, field.Invalid(path, name, message))
	}
	if len(name) > MaxGeneratedNameLength {
		tooLong := field.TooLong(path, name, MaxGeneratedNameLength)
		tooLong.Detail += " unless spec.namespace is set, because the generated namespace contains the name"
		errs = append(errs, tooLong)
	}
	return errs
}

func explicitNamespace(namespace *string, name string, uid types.UID) bool {
	return namespace != nil && *namespace != gardenerv1beta1.GeneratedNamespace(name, uid)
}

func validateNamespace(namespace string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(namespace) {
		errs = append(errs, field.Invalid(path, namespace, message))
	}
	if namespace != gardenerv1beta1.GardenNamespace && !strings.HasPrefix(namespace, gardenerv1beta1.ProjectNamespacePrefix) {
		errs = append(errs, field.Invalid(path, namespace, "must start with "+gardenerv1beta1.ProjectNamespacePrefix))
	}
	return errs
}
