// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// MaxObjectMetrics is the highest limit of the objects of a kind that have metrics. Each has about four series.
const MaxObjectMetrics int32 = 100000

// ObjectKinds returns the kinds whose objects can have metrics.
func ObjectKinds() []string { return []string{"DiscoveryBackend", "Kluster", "Project", "Translation"} }

func validateObjectMetrics(config *v1alpha1.ObjectMetricsConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, kind := range config.Kinds {
		switch {
		case !slices.Contains(ObjectKinds(), kind):
			errs = append(errs, field.NotSupported(path.Child("kinds").Index(i), kind, ObjectKinds()))
		case slices.Contains(config.Kinds[:i], kind):
			errs = append(errs, field.Duplicate(path.Child("kinds").Index(i), kind))
		}
	}
	switch {
	case *config.Limit < 1:
		errs = append(errs, field.Invalid(path.Child("limit"), *config.Limit, "must be greater than 0; an empty list of kinds disables the metrics"))
	case *config.Limit > MaxObjectMetrics:
		errs = append(errs, field.Invalid(path.Child("limit"), *config.Limit, fmt.Sprintf("must be at most %d", MaxObjectMetrics)))
	}
	return errs
}
