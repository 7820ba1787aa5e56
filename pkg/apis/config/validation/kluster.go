// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateKluster(config *v1alpha1.KlusterConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateWorkers(*config.ConcurrentSyncs, path.Child("concurrentSyncs"))...)
	deorbit, deorbitPath := &config.Deorbit, path.Child("deorbit")
	for _, period := range []struct {
		name    string
		value   time.Duration
		minimum time.Duration
	}{
		{"timeout", deorbit.Timeout.Duration, time.Second}, {"stageTimeout", deorbit.StageTimeout.Duration, time.Second},
		{"apiUnavailableTimeout", deorbit.APIUnavailableTimeout.Duration, time.Second},
		{"serviceGracePeriod", deorbit.ServiceGracePeriod.Duration, 0}, {"pollInterval", deorbit.PollInterval.Duration, time.Second},
	} {
		if period.value < period.minimum {
			errs = append(errs, field.Invalid(deorbitPath.Child(period.name), period.value.String(), "must be at least "+period.minimum.String()))
		}
	}
	gc, gcPath := &config.RouteGC, path.Child("routeGC")
	if interval := gc.Interval.Duration; interval < time.Second {
		errs = append(errs, field.Invalid(gcPath.Child("interval"), interval.String(), "must be at least 1s"))
	}
	if confirm := gc.ConfirmAfter.Duration; confirm < 0 {
		errs = append(errs, field.Invalid(gcPath.Child("confirmAfter"), confirm.String(), "must be greater than or equal to 0s"))
	}
	if fraction := *gc.MaxRemovalFraction; !(fraction >= 0 && fraction <= 1) {
		errs = append(errs, field.Invalid(gcPath.Child("maxRemovalFraction"), fraction, "must be at least 0 (each removal waits) and at most 1 (none is suspicious)"))
	}
	openstack, openstackPath := &config.OpenStack, path.Child("openstack")
	if !(*openstack.QPS > 0) {
		errs = append(errs, field.Invalid(openstackPath.Child("qps"), *openstack.QPS, "must be greater than 0"))
	}
	if *openstack.Burst <= 0 {
		errs = append(errs, field.Invalid(openstackPath.Child("burst"), *openstack.Burst, "must be greater than 0"))
	}
	if timeout := openstack.Timeout.Duration; timeout <= 0 {
		errs = append(errs, field.Invalid(openstackPath.Child("timeout"), timeout.String(), "must be greater than 0s"))
	}
	return errs
}
