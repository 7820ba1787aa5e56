// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package validation holds the rules for Klusters that cannot be written as a tag on a field: rules over several fields,
// texts that must parse, and what may follow what in an update. Limits, enums and immutable fields are tags in the
// types, and the generated validation runs beside this one.
package validation

import (
	"fmt"
	"regexp"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

var shortName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// ValidateKluster checks a new Kluster.
func ValidateKluster(kluster *kubernikusv1.Kluster) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, invalidIfAny(field.NewPath("metadata", "name"), kluster.Name, validation.IsDNS1123Subdomain(kluster.Name))...)
	spec, path := &kluster.Spec, field.NewPath("spec")
	errs = append(errs, validateName(spec.Name, path.Child("name"))...)
	errs = append(errs, validateNetwork(spec, path)...)
	errs = append(errs, validateSpec(spec, nil, path)...)
	return errs
}

// ValidateKlusterUpdate checks a change of a Kluster. A spec that does not change is never an obstacle, so that an
// imported Kluster can always get or lose a finalizer; neither are old values of fields that cannot be changed.
func ValidateKlusterUpdate(kluster, old *kubernikusv1.Kluster) field.ErrorList {
	spec, oldSpec, path := &kluster.Spec, &old.Spec, field.NewPath("spec")
	if apiequality.Semantic.DeepEqual(spec, oldSpec) {
		return nil
	}
	var errs field.ErrorList
	errs = append(errs, validateSpec(spec, oldSpec, path)...)
	errs = append(errs, validateVersionChange(spec.Version, oldSpec.Version, path.Child("version"))...)
	errs = append(errs, validatePoolRemoval(spec.NodePools, oldSpec.NodePools, path.Child("nodePools"))...)
	return errs
}

// validateSpec checks what a user may write at any time. The old spec is nil for a new Kluster.
func validateSpec(spec, old *kubernikusv1.KlusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validatePodNetwork(spec, path)...)
	errs = append(errs, validateAddress(spec.AdvertiseAddress, path.Child("advertiseAddress"))...)
	if old == nil || spec.Version != old.Version {
		errs = append(errs, validateVersion(spec.Version, path.Child("version"))...)
	}
	errs = append(errs, validateOIDC(spec.OIDC, path.Child("oidc"))...)
	if old == nil || spec.AuthenticationConfiguration != old.AuthenticationConfiguration {
		errs = append(errs, validateAuthenticationConfiguration(spec.AuthenticationConfiguration, path.Child("authenticationConfiguration"))...)
	}
	var oldPools []kubernikusv1.NodePool
	if old != nil {
		oldPools = old.NodePools
	}
	errs = append(errs, validateNodePools(spec.NodePools, oldPools, path.Child("nodePools"))...)
	errs = append(errs, invalidIfAny(path.Child("secretRef", "name"), spec.SecretRef.Name, validation.IsDNS1123Subdomain(spec.SecretRef.Name))...)
	errs = append(errs, validateSecretReferences(&spec.SecretRef, path.Child("secretRef"))...)
	errs = append(errs, validateCloudProvider(spec, path.Child("cloudProvider"))...)
	errs = append(errs, validateDeorbit(&spec.Deorbit, path.Child("deorbit"))...)
	errs = append(errs, validateRouteGC(spec.RouteGC, path.Child("routeGC"))...)
	errs = append(errs, validateDiscovery(spec.Discovery, path.Child("discovery"))...)
	errs = append(errs, validateLocalVolumeCleanup(spec.LocalVolumeCleanup, path.Child("localVolumeCleanup"))...)
	return errs
}

func validateName(name string, path *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, fmt.Sprintf(
			"metadata.name without -<account> at its end has more than %d characters: set a shorter name here", kubernikusv1.MaxNameLength))}
	case len(name) > kubernikusv1.MaxNameLength:
		return field.ErrorList{field.TooLong(path, name, kubernikusv1.MaxNameLength)}
	case !shortName.MatchString(name):
		return field.ErrorList{field.Invalid(path, name,
			"must start with a lower case letter, end with a letter or digit, and have only lower case letters, digits and dashes")}
	}
	return nil
}

// validateSecretReferences checks the names of Secrets that others wrote.
func validateSecretReferences(ref *kubernikusv1.SecretReference, path *field.Path) (errs field.ErrorList) {
	if k := ref.Kubeconfig; k != nil {
		errs = append(errs, validateSecretName(k.Name, path.Child("kubeconfig", "name"))...)
		if k.Key != "" {
			errs = append(errs, invalidIfAny(path.Child("kubeconfig", "key"), k.Key, validation.IsConfigMapKey(k.Key))...)
		}
	}
	if c := ref.Cloud; c != nil {
		errs = append(errs, validateSecretName(c.Name, path.Child("cloud", "name"))...)
	}
	return errs
}

func validateSecretName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil // it is required by a marker of the type
	}
	return invalidIfAny(path, name, validation.IsDNS1123Subdomain(name))
}

// invalidIfAny makes one error of the findings of a check from apimachinery.
func invalidIfAny(path *field.Path, value string, findings []string) field.ErrorList {
	if len(findings) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, strings.Join(findings, "; "))}
}
