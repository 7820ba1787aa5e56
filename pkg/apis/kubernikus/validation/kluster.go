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
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

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
	errs = append(errs, validateAcceptedIdentities(kluster)...)
	return errs
}

// ValidateKlusterUpdate checks a change of a Kluster. A spec that does not change is never an obstacle, so that an
// imported Kluster can always get or lose a finalizer; neither are old values of fields that cannot be changed.
func ValidateKlusterUpdate(kluster, old *kubernikusv1.Kluster) field.ErrorList {
	var errs field.ErrorList
	if kluster.Annotations[kubernikusv1.AcceptUnknownIdentityAnnotation] != old.Annotations[kubernikusv1.AcceptUnknownIdentityAnnotation] {
		errs = validateAcceptedIdentities(kluster)
	}
	spec, oldSpec, path := &kluster.Spec, &old.Spec, field.NewPath("spec")
	if apiequality.Semantic.DeepEqual(spec, oldSpec) {
		return errs
	}
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
	errs = append(errs, invalidIfAny(path.Child("secretRef", "name"), spec.SecretRef.Name,
		validation.IsDNS1123Subdomain(spec.SecretRef.Name))...)
	errs = append(errs, validateSecretReferences(&spec.SecretRef, path.Child("secretRef"))...)
	errs = append(errs, validateCloudProvider(spec, path.Child("cloudProvider"))...)
	errs = append(errs, validateDeorbit(&spec.Deorbit, path.Child("deorbit"))...)
	errs = append(errs, validateRouteGC(spec.RouteGC, path.Child("routeGC"))...)
	errs = append(errs, validateDiscovery(spec.Discovery, path.Child("discovery"))...)
	errs = append(errs, validateLocalVolumeCleanup(spec.LocalVolumeCleanup, path.Child("localVolumeCleanup"))...)
	return errs
}

// validateAcceptedIdentities checks that an annotation names objects as conditions and warnings do: what it does not name stays a doubt.
func validateAcceptedIdentities(kluster *kubernikusv1.Kluster) (errs field.ErrorList) {
	for _, reference := range kluster.AcceptedIdentities() {
		kind, object, _ := strings.Cut(reference, "/")
		namespace, name, _ := strings.Cut(object, "/")
		malformed := len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0
		if malformed || kind != "kluster" && kind != "discoverybackend" {
			path := field.NewPath("metadata", "annotations").Key(kubernikusv1.AcceptUnknownIdentityAnnotation)
			errs = append(errs, field.Invalid(path, reference, "must be kluster/namespace/name or discoverybackend/namespace/name, "+
				"with a comma between several: copy it from the condition or the warning that names the object"))
		}
	}
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

func validateVersion(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return nil
	}
	if _, err := parseVersion(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	return nil
}

// validateVersionChange rejects what an upgrade of Kubernetes cannot do. A version that does not parse is reported
// elsewhere, and may be replaced by any other.
func validateVersionChange(text, oldText string, path *field.Path) field.ErrorList {
	old, err := parseVersion(oldText)
	if err != nil {
		return nil
	}
	if text == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("cannot be removed: keep %s, or set a later version", oldText))}
	}
	wanted, err := parseVersion(text)
	if err != nil {
		return nil
	}
	switch {
	case wanted.LessThan(old):
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("must not be before %s: a cluster cannot be downgraded", oldText))}
	case wanted.Major() != old.Major():
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("must have the major version of %s", oldText))}
	case wanted.Minor() > old.Minor()+1:
		return field.ErrorList{field.Invalid(path, text, fmt.Sprintf(
			"must not skip a minor version: upgrade from %s to %d.%d first", oldText, old.Major(), old.Minor()+1))}
	}
	return nil
}

// parseVersion reads a semantic version. The parser of apimachinery also takes a leading v and blanks around it.
func parseVersion(text string) (*version.Version, error) {
	parsed, err := version.ParseSemantic(text)
	if err != nil || parsed.String() != text {
		return nil, fmt.Errorf("must be a semantic version such as 1.36.3")
	}
	return parsed, nil
}
