// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// maxAdded is how many labels can be added. Each is on every copy.
const maxAdded = 32

// lastApplied is the annotation from which kubectl apply computes what to delete: the copy was not applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// validateCopied checks which services are copied, and with which labels and annotations.
func validateCopied(cluster *gimbalv1.Cluster, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if cluster.Selector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(cluster.Selector, metav1validation.LabelSelectorValidationOptions{},
			path.Child("selector"))...)
	}
	labels := path.Child("labels")
	for name, keys := range map[string][]string{"exclude": cluster.Labels.Exclude, "include": cluster.Labels.Include} {
		for i, key := range keys {
			if !gimbalv1.IsLabelKey(key) {
				errs = append(errs, field.Invalid(labels.Child(name).Index(i), key,
					"must be the key of a label, for instance example.com/team, or a prefix that ends with a slash, for instance example.com/"))
			}
		}
	}
	if len(cluster.Labels.Add) > maxAdded {
		errs = append(errs, field.TooMany(labels.Child("add"), len(cluster.Labels.Add), maxAdded))
	}
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels.Add)) {
		at, value := labels.Child("add").Key(key), cluster.Labels.Add[key]
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(at, value, problem))
		}
		if gimbalv1.IsReservedKey(key) {
			errs = append(errs, field.Forbidden(at, "Groundskeeper writes this label: choose another key"))
		}
	}
	for i, key := range cluster.Annotations {
		at := path.Child("annotations").Index(i)
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, problem))
		}
		if gimbalv1.IsReservedKey(key) || key == lastApplied {
			errs = append(errs, field.Forbidden(at, "this annotation has a meaning only for the original: remove it from the list"))
		}
	}
	return errs
}
