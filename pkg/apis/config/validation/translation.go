// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateTranslation(config *v1alpha1.TranslationConfiguration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	types := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}
	for i, service := range config.ServiceTypes {
		at := path.Child("serviceTypes").Index(i)
		if !slices.Contains(types, service) {
			errs = append(errs, field.NotSupported(at, service, types))
		}
		if slices.Contains(config.ServiceTypes[:i], service) {
			errs = append(errs, field.Duplicate(at, service))
		}
	}
	if period := config.NodeGracePeriod.Duration; period < 0 {
		errs = append(errs, field.Invalid(path.Child("nodeGracePeriod"), period.String(), "must be greater than or equal to 0s"))
	}
	errs = append(errs, validatePush(&config.Push, path.Child("push"))...)
	return append(errs, validateMidoNet(&config.MidoNet, election, path.Child("midonet"))...)
}

func validatePush(config *v1alpha1.PushConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	modes := []v1alpha1.PushMode{v1alpha1.PushModeRepair, v1alpha1.PushModeObserve, v1alpha1.PushModePlan}
	if !slices.Contains(modes, config.Mode) {
		errs = append(errs, field.NotSupported(path.Child("mode"), config.Mode, modes))
	}
	errs = append(errs, validateWorkers(*config.Concurrency, path.Child("concurrency"))...)
	if interval := config.DriftInterval.Duration; interval < time.Second {
		errs = append(errs, field.Invalid(path.Child("driftInterval"), interval.String(), "must be at least 1s"))
	}
	policies := []v1alpha1.OrphanPolicy{v1alpha1.OrphanPolicyReport, v1alpha1.OrphanPolicyDelete}
	if !slices.Contains(policies, config.Orphans) {
		errs = append(errs, field.NotSupported(path.Child("orphans"), config.Orphans, policies))
	}
	return errs
}

func validateMidoNet(config *v1alpha1.MidoNetConfiguration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	if config.URL == "" {
		return nil // nothing of it is used
	}
	var errs field.ErrorList
	u, err := url.Parse(config.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		// The value is not repeated: it may hold a password.
		errs = append(errs, field.Invalid(path.Child("url"), "", "must be a URL with http or https and a host, for instance http://midonet:8181/midonet-api"))
	case u.User != nil:
		errs = append(errs, field.Invalid(path.Child("url"), u.Redacted(), "must have no user and no password: use username and passwordFile"))
	case u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/midonet-api"):
		errs = append(errs, field.Invalid(path.Child("url"), config.URL, "must end in /midonet-api"))
	}
	switch {
	case config.Username != "" && config.PasswordFile == "":
		errs = append(errs, field.Required(path.Child("passwordFile"), "username is set: name the file that holds the password"))
	case config.Username == "" && config.PasswordFile != "":
		errs = append(errs, field.Required(path.Child("username"), "passwordFile is set: set the user that it belongs to"))
	}
	timeout, spare := config.Timeout.Duration, election.LeaseDuration.Duration-election.RenewDeadline.Duration
	switch {
	case timeout <= 0:
		errs = append(errs, field.Invalid(path.Child("timeout"), timeout.String(), "must be greater than 0s"))
	case *election.LeaderElect && spare > 0 && timeout >= spare: // a spare of 0 is a separate error
		errs = append(errs, field.Invalid(path.Child("timeout"), timeout.String(), "must be shorter than leaderElection.leaseDuration less renewDeadline, "+
			spare.String()+": a write of a former leader must not land after another one began"))
	}
	return errs
}
