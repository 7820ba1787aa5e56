// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// validateEnabled checks the list of enabled controllers: "*", names, and names with a minus in front.
func validateEnabled(enabled, controllers []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	adds := false
	for i, entry := range enabled {
		name, out := strings.CutPrefix(entry, "-")
		adds = adds || !out
		switch {
		case name == "*" && !out:
		case !slices.Contains(controllers, name):
			errs = append(errs, field.NotSupported(path.Index(i), name, controllers))
			continue
		}
		switch {
		case slices.Contains(enabled[:i], entry):
			errs = append(errs, field.Duplicate(path.Index(i), entry))
		case out && slices.Contains(enabled, name):
			errs = append(errs, field.Invalid(path.Index(i), entry, "the list also has "+name))
		}
	}
	if len(enabled) > 0 && !adds {
		errs = append(errs, field.Invalid(path, enabled, `removes controllers from an empty list: add "*"`))
	}
	return errs
}

func validateProject(config *v1alpha1.ProjectControllerConfiguration, path *field.Path) field.ErrorList {
	errs := oneOf(config.Authorization, path.Child("authorization"),
		v1alpha1.ProjectAuthorizationRoles, v1alpha1.ProjectAuthorizationMembership)
	errs = append(errs, validateWorkers(*config.ConcurrentSyncs, path.Child("concurrentSyncs"))...)
	errs = append(errs, validateDays(*config.MinimumLifetimeDays, path.Child("minimumLifetimeDays"))...)
	errs = append(errs, validateDays(*config.StaleGracePeriodDays, path.Child("staleGracePeriodDays"))...)
	errs = append(errs, validateDays(*config.StaleExpirationTimeDays, path.Child("staleExpirationTimeDays"))...)
	errs = append(errs, validateDays(*config.StaleNoticeDays, path.Child("staleNoticeDays"))...)
	if *config.StaleExpirationTimeDays < *config.StaleGracePeriodDays {
		errs = append(errs, field.Invalid(path.Child("staleExpirationTimeDays"), *config.StaleExpirationTimeDays,
			"must not be less than staleGracePeriodDays"))
	}
	errs = append(errs, atLeast(time.Second, config.StaleSyncPeriod, path.Child("staleSyncPeriod"))...)
	errs = append(errs, each(config.UsageResources, path.Child("usageResources"), by(func(entry string) []string {
		if resource := schema.ParseGroupResource(entry); len(validation.IsDNS1123Label(resource.Resource)) > 0 ||
			resource.Group != "" && len(validation.IsDNS1123Subdomain(resource.Group)) > 0 {
			return []string{"must be a resource and its group, for instance shoots.core.gardener.cloud"}
		}
		return nil
	}))...)
	for i := range config.Quotas {
		errs = append(errs, validateQuota(&config.Quotas[i], path.Child("quotas").Index(i))...)
	}
	return errs
}

// countsNothing returns what is wrong with a limit of the number of objects that would never count any: without a group it is
// one of Kubernetes' core group, which has few resources.
func countsNothing(limit string) string {
	plural, counts := strings.CutPrefix(limit, "count/")
	if !counts || strings.Contains(plural, ".") {
		return ""
	}
	core := []string{"configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods", "podtemplates",
		"replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services"}
	if slices.Contains(core, plural) {
		return ""
	}
	groups := map[string]string{
		"klusters": kubernikusv1.GroupName, "discoverybackends": gimbalv1.GroupName, "translations": midonetv1.GroupName,
		"shoots": gardenerv1beta1.GroupName,
	}
	group, known := groups[plural]
	if !known {
		return "counts nothing, because the core group has no " + plural + ": add the group, as in count/deployments.apps"
	}
	return "counts nothing without its group: write count/" + plural + "." + group
}

func validateQuota(config *v1alpha1.QuotaConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	quota, quotaPath := &config.Config, path.Child("config")
	if quota.APIVersion != "" && quota.APIVersion != "v1" {
		errs = append(errs, field.NotSupported(quotaPath.Child("apiVersion"), quota.APIVersion, []string{"v1"}))
	}
	if quota.Kind != "" && quota.Kind != "ResourceQuota" {
		errs = append(errs, field.NotSupported(quotaPath.Child("kind"), quota.Kind, []string{"ResourceQuota"}))
	}
	hard := quotaPath.Child("spec", "hard")
	if len(quota.Spec.Hard) == 0 {
		errs = append(errs, field.Required(hard, "at least one resource must be limited"))
	}
	for _, resource := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
		for _, message := range content.IsLabelKey(string(resource)) {
			errs = append(errs, field.Invalid(hard, resource, message))
		}
		if message := countsNothing(string(resource)); message != "" {
			errs = append(errs, field.Invalid(hard, resource, message))
		}
		if limit := quota.Spec.Hard[resource]; limit.Sign() < 0 {
			errs = append(errs, field.Invalid(hard.Child(string(resource)), limit.String(), "must be greater than or equal to 0"))
		}
	}

	selector := path.Child("projectSelector")
	invalid := metav1validation.ValidateLabelSelector(config.ProjectSelector, metav1validation.LabelSelectorValidationOptions{}, selector)
	if _, err := metav1.LabelSelectorAsSelector(config.ProjectSelector); err != nil && len(invalid) == 0 {
		invalid = field.ErrorList{field.Invalid(selector, config.ProjectSelector, err.Error())}
	}
	return append(errs, invalid...)
}

func validateKluster(config *v1alpha1.KlusterConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateWorkers(*config.ConcurrentSyncs, path.Child("concurrentSyncs"))...)
	deorbit, deorbitPath := &config.Deorbit, path.Child("deorbit")
	errs = append(errs, atLeast(time.Second, deorbit.Timeout, deorbitPath.Child("timeout"))...)
	errs = append(errs, atLeast(time.Second, deorbit.StageTimeout, deorbitPath.Child("stageTimeout"))...)
	errs = append(errs, atLeast(time.Second, deorbit.APIUnavailableTimeout, deorbitPath.Child("apiUnavailableTimeout"))...)
	errs = append(errs, atLeast(0, deorbit.ServiceGracePeriod, deorbitPath.Child("serviceGracePeriod"))...)
	errs = append(errs, atLeast(time.Second, deorbit.PollInterval, deorbitPath.Child("pollInterval"))...)
	errs = append(errs, each(deorbit.CSIDrivers, deorbitPath.Child("csiDrivers"), by(validation.IsQualifiedName))...)
	errs = append(errs, each(deorbit.LoadBalancerClasses, deorbitPath.Child("loadBalancerClasses"), by(validation.IsQualifiedName))...)
	gc, gcPath := &config.RouteGC, path.Child("routeGC")
	errs = append(errs, atLeast(time.Second, gc.Interval, gcPath.Child("interval"))...)
	errs = append(errs, atLeast(0, gc.ConfirmAfter, gcPath.Child("confirmAfter"))...)
	if fraction := *gc.MaxRemovalFraction; !(fraction >= 0 && fraction <= 1) {
		errs = append(errs, field.Invalid(gcPath.Child("maxRemovalFraction"), fraction,
			"must be at least 0 (each removal waits) and at most 1 (none is suspicious)"))
	}
	openstack, openstackPath := &config.OpenStack, path.Child("openstack")
	errs = append(errs, positive(*openstack.QPS, openstackPath.Child("qps"))...)
	errs = append(errs, positive(*openstack.Burst, openstackPath.Child("burst"))...)
	if timeout := openstack.Timeout.Duration; timeout <= 0 {
		errs = append(errs, field.Invalid(openstackPath.Child("timeout"), timeout.String(), "must be greater than 0s"))
	}
	return append(errs, validateClusterAPI(config, path.Child("clusterAPI"))...)
}

func validateClusterAPI(kluster *v1alpha1.KlusterConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	config := &kluster.ClusterAPI
	if *config.Enabled && !*kluster.Enabled {
		errs = append(errs, field.Invalid(path.Child("enabled"), true,
			"requires the controllers of Klusters: set controllers.kluster.enabled to true"))
	}
	errs = append(errs, atLeast(time.Second, config.DrainTimeout, path.Child("drainTimeout"))...)
	errs = append(errs, atLeast(time.Second, config.VerifyTimeout, path.Child("verifyTimeout"))...)
	return append(errs, each(config.Namespaces, path.Child("namespaces"), by(validation.IsDNS1123Label))...)
}

// MaxObjectMetrics is the highest limit of the objects of a kind that have metrics. Each has about four series.
const MaxObjectMetrics int32 = 100000

// ObjectKinds returns the kinds whose objects can have metrics.
func ObjectKinds() []string { return []string{"DiscoveryBackend", "Kluster", "Project", "Translation"} }

func validateObjectMetrics(config *v1alpha1.ObjectMetricsConfiguration, path *field.Path) field.ErrorList {
	errs := each(config.Kinds, path.Child("kinds"), among(ObjectKinds()...))
	return append(errs, between(*config.Limit, 1, "must be greater than 0; an empty list of kinds disables the metrics", MaxObjectMetrics,
		path.Child("limit"))...)
}
