// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// minRouteGCInterval keeps one Kluster from flooding the OpenStack that it shares with others.
const minRouteGCInterval = time.Second

// validateCloudProvider rejects empty names where something would be deleted by them. "kubernetes", which other clusters
// may have as well, is a name that a cluster can have: nothing is deleted by it alone.
func validateCloudProvider(spec *kubernikusv1.KlusterSpec, path *field.Path) field.ErrorList {
	if spec.NoCloud {
		return nil
	}
	empty := func(name *string) bool { return name != nil && *name == "" }
	deorbit, names := &spec.Deorbit, &spec.CloudProvider
	var errs field.ErrorList
	if empty(names.ClusterName) && deletesAny(deorbit.LoadBalancers, deorbit.FloatingIPs) {
		errs = append(errs, field.Invalid(path.Child("clusterName"), *names.ClusterName,
			"must not be empty: set the --cluster-name of this cluster's cloud controller manager, or omit the field to have it read from the "+
				"cluster"))
	}
	if empty(names.CSIClusterID) && deletesAny(deorbit.PersistentVolumes, deorbit.Snapshots) {
		errs = append(errs, field.Invalid(path.Child("csiClusterID"), *names.CSIClusterID,
			"must not be empty: set the --cluster of this cluster's Cinder CSI driver, or omit the field to have it read from the cluster"))
	}
	return errs
}

func deletesAny(policies ...kubernikusv1.DeletionPolicy) bool {
	for _, policy := range policies {
		if policy != kubernikusv1.DeletionPolicyRetain {
			return true
		}
	}
	return false
}

func validateDeorbit(deorbit *kubernikusv1.DeorbitSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, positive(deorbit.Timeout, path.Child("timeout"))...)
	errs = append(errs, positive(deorbit.StageTimeout, path.Child("stageTimeout"))...)
	errs = append(errs, positive(deorbit.APIUnavailableTimeout, path.Child("apiUnavailableTimeout"))...)
	return append(errs, atLeast(0, deorbit.ServiceGracePeriod, path.Child("serviceGracePeriod"))...)
}

func validateRouteGC(routeGC *kubernikusv1.RouteGCSpec, path *field.Path) field.ErrorList {
	if routeGC == nil {
		return nil
	}
	return atLeast(minRouteGCInterval, routeGC.Interval, path.Child("interval"))
}

func validateDiscovery(discovery *kubernikusv1.DiscoverySpec, path *field.Path) field.ErrorList {
	if discovery == nil {
		return nil
	}
	return invalidIfAny(path.Child("namespace"), discovery.Namespace, validation.IsDNS1123Label(discovery.Namespace))
}

func validateLocalVolumeCleanup(cleanup *kubernikusv1.LocalVolumeCleanupSpec, path *field.Path) field.ErrorList {
	if cleanup == nil {
		return nil
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range cleanup.StorageClassNames {
		path := path.Child("storageClassNames").Index(i)
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(path, name))
			continue
		}
		seen.Insert(name)
		errs = append(errs, invalidIfAny(path, name, validation.IsDNS1123Subdomain(name))...)
	}
	errs = append(errs, atLeast(0, cleanup.PVCDeletionDelay, path.Child("pvcDeletionDelay"))...)
	return append(errs, validateFraction(cleanup.MaxMissingNodeFraction, path.Child("maxMissingNodeFraction"))...)
}

// validateFraction checks a part of a whole that may be unset. Protobuf, unlike JSON, can carry what is no number.
func validateFraction(fraction *float64, path *field.Path) field.ErrorList {
	if fraction == nil || *fraction > 0 && *fraction <= 1 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *fraction, "must be more than 0 and at most 1, for instance 0.55")}
}

func positive(duration *metav1.Duration, path *field.Path) field.ErrorList {
	if duration == nil || duration.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must be more than 0, for instance 10m")}
}

// atLeast checks a duration that may be unset.
func atLeast(minimum time.Duration, duration *metav1.Duration, path *field.Path) field.ErrorList {
	if duration == nil || duration.Duration >= minimum {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), fmt.Sprintf("must be at least %s", minimum))}
}
