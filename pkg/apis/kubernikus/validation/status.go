// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// ValidateKlusterStatusUpdate checks a change of the status. The old Kluster takes no part in any rule of today.
func ValidateKlusterStatusUpdate(kluster, _ *kubernikusv1.Kluster) field.ErrorList {
	status, path := &kluster.Status, field.NewPath("status")
	var errs field.ErrorList
	if status.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(path.Child("observedGeneration"), status.ObservedGeneration, "must not be negative"))
	}
	errs = append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
	if deorbit := status.Deorbit; deorbit != nil {
		path := path.Child("deorbit")
		errs = append(errs, uniqueKeys(deorbit.SeenVolumes, path.Child("seenVolumes"), "id",
			func(volume kubernikusv1.SeenVolume) string { return volume.ID })...)
		errs = append(errs, uniqueKeys(deorbit.SeenSnapshots, path.Child("seenSnapshots"), "id",
			func(snapshot kubernikusv1.SeenSnapshot) string { return snapshot.ID })...)
		errs = append(errs, uniqueKeys(deorbit.SeenServices, path.Child("seenServices"), "uid",
			func(service kubernikusv1.SeenService) string { return service.UID })...)
	}
	return errs
}

// uniqueKeys checks a list that may have thousands of entries. The generated check would compare each with each.
func uniqueKeys[T any](list []T, path *field.Path, name string, key func(T) string) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, entry := range list {
		if seen.Has(key(entry)) {
			errs = append(errs, field.Duplicate(path.Index(i).Child(name), key(entry)))
		}
		seen.Insert(key(entry))
	}
	return errs
}
