// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateDiscovery(config *v1alpha1.DiscoveryConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.ContainsFunc(config.Image, func(r rune) bool { return r <= ' ' }) {
		errs = append(errs, field.Invalid(path.Child("image"), config.Image,
			"must be an image, for instance registry.example.com/groundskeeper-discoverer:v1"))
	}
	errs = append(errs, each(config.AdminNamespaces, path.Child("adminNamespaces"), by(validation.IsDNS1123Label))...)
	if keep := config.KeepRemovedReferences.Duration; keep < 0 {
		errs = append(errs, field.Invalid(path.Child("keepRemovedReferences"), keep.String(),
			"must not be negative; 0s records no removed references"))
	}
	if limit := *config.MaxAutomaticMaintenance; limit < 0 {
		errs = append(errs, field.Invalid(path.Child("maxAutomaticMaintenance"), limit,
			"must not be negative; 0 turns automatic maintenance off"))
	}
	errs = append(errs, validateOtherKinds(config.OtherKinds, path.Child("otherKinds"))...)
	return append(errs, validateWorkers(*config.DrainConcurrency, path.Child("drainConcurrency"))...)
}

// otherPath is a path to fields of an object: names of fields, with brackets after those of lists.
var otherPath = regexp.MustCompile(`^[A-Za-z0-9_-]+(\[\])?(\.[A-Za-z0-9_-]+(\[\])?)+$`)

// isDrained reports whether maintenance changes the weights of a resource, or follows it for another reason.
func isDrained(kind v1alpha1.OtherKind) bool {
	switch kind.Group {
	case "projectcontour.io", "contour.heptio.com", "gateway.networking.k8s.io", "networking.k8s.io", "gimbal.heptio.com", "discovery.k8s.io",
		"apiextensions.k8s.io":
		return true
	}
	return false
}

func validateOtherKinds(all []v1alpha1.OtherKind, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, kind := range all {
		at := path.Index(i)
		errs = append(errs, by(validation.IsDNS1123Subdomain)(kind.Group, at.Child("group"))...)
		if isDrained(kind) {
			errs = append(errs, field.Invalid(at.Child("group"), kind.Group,
				"the kinds of this group that refer to Services are supported without configuration"))
		}
		if kind.Kind == "" {
			errs = append(errs, field.Required(at.Child("kind"), "the name of the kind, for instance VirtualService"))
		}
		errs = append(errs, by(validation.IsDNS1123Label)(kind.Resource, at.Child("resource"))...)
		if slices.ContainsFunc(all[:i], func(other v1alpha1.OtherKind) bool {
			return other.Group == kind.Group && other.Resource == kind.Resource
		}) {
			errs = append(errs, field.Duplicate(at, kind.Resource+"."+kind.Group))
		}
		if len(kind.Paths) == 0 {
			errs = append(errs, field.Required(at.Child("paths"), "the fields with the name of a Service, for instance spec.to.name"))
		}
		for j, text := range kind.Paths {
			if !otherPath.MatchString(text) {
				errs = append(errs, field.Invalid(at.Child("paths").Index(j), text,
					"must be names of fields with dots between them, and brackets after those of lists, for instance spec.services[].name"))
			}
		}
	}
	return errs
}
