// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateDiscovery(config *v1alpha1.DiscoveryConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.ContainsFunc(config.Image, func(r rune) bool { return r <= ' ' }) {
		errs = append(errs, field.Invalid(path.Child("image"), config.Image, "must be an image, for instance registry.example.com/groundskeeper-discoverer:v1"))
	}
	for i, namespace := range config.AdminNamespaces {
		at := path.Child("adminNamespaces").Index(i)
		for _, message := range validation.IsDNS1123Label(namespace) {
			errs = append(errs, field.Invalid(at, namespace, message))
		}
		if slices.Contains(config.AdminNamespaces[:i], namespace) {
			errs = append(errs, field.Duplicate(at, namespace))
		}
	}
	if keep := config.KeepRemovedReferences.Duration; keep < 0 {
		errs = append(errs, field.Invalid(path.Child("keepRemovedReferences"), keep.String(), "must not be negative; 0s records no removed references"))
	}
	return append(errs, validateWorkers(*config.DrainConcurrency, path.Child("drainConcurrency"))...)
}
