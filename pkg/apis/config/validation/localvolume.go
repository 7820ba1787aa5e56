// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateLocalVolume(config *v1alpha1.LocalVolumeConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := func(list []string, path *field.Path, check func(string) []string) {
		for i, name := range list {
			for _, message := range check(name) {
				errs = append(errs, field.Invalid(path.Index(i), name, message))
			}
			if slices.Contains(list[:i], name) {
				errs = append(errs, field.Duplicate(path.Index(i), name))
			}
		}
	}
	names(config.StorageClassNames, path.Child("storageClassNames"), validation.IsDNS1123Subdomain)
	names(config.NodeTopologyKeys, path.Child("nodeTopologyKeys"), content.IsLabelKey)
	if len(config.NodeTopologyKeys) == 0 {
		errs = append(errs, field.Required(path.Child("nodeTopologyKeys"), "without one no volume names its node"))
	}
	if delay := config.PVCDeletionDelay.Duration; delay < 0 {
		errs = append(errs, field.Invalid(path.Child("pvcDeletionDelay"), delay.String(), "must be greater than or equal to 0s"))
	}
	if interval := config.StalePVDiscoveryInterval.Duration; interval <= 0 {
		errs = append(errs, field.Invalid(path.Child("stalePVDiscoveryInterval"), interval.String(), "must be greater than 0s"))
	}
	if fraction := *config.MaxMissingNodeFraction; !(fraction > 0 && fraction <= 1) {
		errs = append(errs, field.Invalid(path.Child("maxMissingNodeFraction"), fraction, "must be greater than 0 and at most 1 (1: never stop)"))
	}
	return append(errs, validateWorkers(*config.WorkerThreads, path.Child("workerThreads"))...)
}
