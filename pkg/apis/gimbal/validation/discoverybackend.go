// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package validation rejects DiscoveryBackends that could never be discovered. Checks of a single field (an
// unknown type, an interval below 1) is declared at the types and checked by generated code.
package validation

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// namePattern is that of a Service's name, which the name of a backend starts.
var namePattern = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxDrainDuration is how long traffic may be moved in steps.
const maxDrainDuration = 24 * time.Hour

// Limits of the periods of automatic maintenance.
const (
	minUnreachablePeriod = time.Second
	maxPeriod            = 24 * time.Hour
)

// ValidateDiscoveryBackend checks a new DiscoveryBackend, normalized.
func ValidateDiscoveryBackend(backend *gimbalv1.DiscoveryBackend) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&backend.ObjectMeta, true, validateName, field.NewPath("metadata"))
	return append(errs, validateCluster(&backend.Cluster, field.NewPath("cluster"))...)
}

// ValidateDiscoveryBackendUpdate checks a change of a DiscoveryBackend; both are normalized. A cluster that it leaves
// alone is not judged again, so that the finalizer of any stored object can be removed.
func ValidateDiscoveryBackendUpdate(backend, old *gimbalv1.DiscoveryBackend) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&backend.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	if equality.Semantic.DeepEqual(backend.Cluster, old.Cluster) {
		return errs
	}
	path := field.NewPath("cluster")
	if backend.Cluster.Type != "" && backend.Cluster.Type != old.Cluster.Type {
		errs = append(errs, field.Invalid(path.Child("type"), backend.Cluster.Type, fmt.Sprintf(
			"cannot be changed from %s: delete this backend and create another", old.Cluster.Type)))
	}
	return append(errs, validateCluster(&backend.Cluster, path)...)
}

// ValidateDiscoveryBackendStatusUpdate checks a change of a DiscoveryBackend's status.
func ValidateDiscoveryBackendStatusUpdate(backend, old *gimbalv1.DiscoveryBackend) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&backend.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, metav1validation.ValidateConditions(backend.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// validateName checks the name of a backend, or the generateName that is to start it.
func validateName(name string, prefix bool) []string {
	if prefix {
		name = strings.TrimSuffix(name, "-")
	}
	var problems []string
	if !namePattern.MatchString(name) {
		problems = append(problems, "must start with a lower-case letter, have only lower-case letters, digits and dashes, "+
			"and not end with a dash, for instance us-east-1")
	}
	if len(name) > gimbalv1.MaxNameLength {
		problems = append(problems, fmt.Sprintf("must be at most %d characters long: it is the prefix of the name of every discovered service",
			gimbalv1.MaxNameLength))
	}
	return problems
}

func validateCluster(cluster *gimbalv1.Cluster, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	secret, credentials := path.Child("secret"), path.Child("credentials")
	switch {
	case cluster.SecretName() == "":
		errs = append(errs, field.Required(secret, fmt.Sprintf(
			"set the name of the Secret with the credentials, in %s or in %s", secret, credentials)))
	case cluster.Secret != "" && cluster.Credentials != "":
		errs = append(errs, field.Invalid(credentials, cluster.Credentials, fmt.Sprintf(
			"%s and %s are two names of one field: remove one of them", secret, credentials)))
	}
	if period := cluster.DrainGracePeriod; period != nil && period.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("drainGracePeriod"), period.Duration.String(), "must be 0s or longer"))
	}
	if duration := cluster.DrainDuration; duration != nil && (duration.Duration < 0 || duration.Duration > maxDrainDuration) {
		errs = append(errs, field.Invalid(path.Child("drainDuration"), duration.Duration.String(), "must be from 0s to 24h"))
	}
	maintenance := path.Child("maintenance")
	if period := cluster.Maintenance.UnreachablePeriod; period != nil &&
		(period.Duration < minUnreachablePeriod || period.Duration > maxPeriod) {
		errs = append(errs, field.Invalid(maintenance.Child("unreachablePeriod"), period.Duration.String(), "must be from 1s to 24h"))
	}
	if period := cluster.Maintenance.StablePeriod; period != nil && (period.Duration < 0 || period.Duration > maxPeriod) {
		errs = append(errs, field.Invalid(maintenance.Child("stablePeriod"), period.Duration.String(), "must be from 0s to 24h"))
	}
	services, policy := maintenance.Child("services"), cluster.Maintenance.Services
	if period := policy.UnreadyPeriod; period != nil && (period.Duration < minUnreachablePeriod || period.Duration > maxPeriod) {
		errs = append(errs, field.Invalid(services.Child("unreadyPeriod"), period.Duration.String(), "must be from 1s to 24h"))
	}
	if period := policy.StablePeriod; period != nil && (period.Duration < 0 || period.Duration > maxPeriod) {
		errs = append(errs, field.Invalid(services.Child("stablePeriod"), period.Duration.String(), "must be from 0s to 24h"))
	}
	if cluster.ServicePolicy == gimbalv1.ServicesExported && cluster.Type == gimbalv1.BackendOpenStack {
		errs = append(errs, field.Invalid(path.Child("servicePolicy"), cluster.ServicePolicy,
			"an OpenStack cloud has no ServiceExports: set All, or leave the field empty"))
	}
	for i, text := range cluster.Addresses.Allow {
		if _, err := gimbalv1.ParseNetwork(text); err != nil {
			errs = append(errs, field.Invalid(path.Child("addresses", "allow").Index(i), text, err.Error()))
		}
	}
	return append(errs, validateCopied(cluster, path)...)
}
