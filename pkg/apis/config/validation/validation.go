// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package validation validates a configuration.
package validation

import (
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// ValidateControllerManagerConfiguration checks a defaulted configuration. controllers are the names of the
// controllers the binary has.
func ValidateControllerManagerConfiguration(config *v1alpha1.ControllerManagerConfiguration, controllers []string) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateClientConnection(&config.ClientConnection, field.NewPath("clientConnection"))...)
	errs = append(errs, validateLeaderElection(&config.LeaderElection, field.NewPath("leaderElection"))...)
	errs = append(errs, validateLog(&config.Log, field.NewPath("log"))...)
	errs = append(errs, validateTracing(&config.Tracing, field.NewPath("tracing"))...)
	errs = append(errs, validateAddress(&config.Server.Health, field.NewPath("server", "health"))...)
	errs = append(errs, validateObjectMetrics(&config.Server.ObjectMetrics, field.NewPath("server", "objectMetrics"))...)
	errs = append(errs, validateDebugging(&config.Server.Debugging, field.NewPath("server", "debugging"))...)
	errs = append(errs, validateWebhooks(&config.Server.Webhooks, field.NewPath("server", "webhooks"))...)
	errs = append(errs, validatePorts(config, field.NewPath("server"))...)
	errs = append(errs, validateEnabled(config.Controllers.Enabled, controllers, field.NewPath("controllers", "enabled"))...)
	errs = append(errs, validateProject(&config.Controllers.Project, field.NewPath("controllers", "project"))...)
	errs = append(errs, validateTranslation(&config.Controllers.Translation, &config.LeaderElection,
		field.NewPath("controllers", "translation"))...)
	errs = append(errs, validateDiscovery(&config.Controllers.Discovery, field.NewPath("controllers", "discovery"))...)
	errs = append(errs, validateKluster(&config.Controllers.Kluster, field.NewPath("controllers", "kluster"))...)
	errs = append(errs, validateLocalVolume(&config.Controllers.LocalVolume, field.NewPath("controllers", "localVolume"))...)
	return append(errs, validateDurations(reflect.ValueOf(config), nil)...)
}

func validateClientConnection(config *v1alpha1.ClientConnectionConfiguration, path *field.Path) field.ErrorList {
	return append(positive(*config.QPS, path.Child("qps")), positive(*config.Burst, path.Child("burst"))...)
}

func validateLeaderElection(config *v1alpha1.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	errs := by(validation.IsDNS1123Label)(config.ResourceNamespace, path.Child("resourceNamespace"))
	errs = append(errs, by(validation.IsDNS1123Subdomain)(config.ResourceName, path.Child("resourceName"))...)
	lease, renew, retry := config.LeaseDuration.Duration, config.RenewDeadline.Duration, config.RetryPeriod.Duration
	invalid := func(name string, value time.Duration, message string) {
		errs = append(errs, field.Invalid(path.Child(name), value.String(), message))
	}
	if lease < time.Second {
		invalid("leaseDuration", lease, "must be at least 1s: a Lease counts in whole seconds")
	}
	switch {
	case renew <= 0:
		invalid("renewDeadline", renew, "must be greater than 0s")
	case renew >= lease:
		invalid("renewDeadline", renew, "must be shorter than leaseDuration")
	}
	switch {
	case retry <= 0:
		invalid("retryPeriod", retry, "must be greater than 0s")
	case retry >= renew-retry/5: // client-go adds up to a fifth to every pause
		invalid("retryPeriod", retry, "plus a fifth of it must be shorter than renewDeadline")
	}
	return errs
}

func validateLog(config *v1alpha1.LogConfiguration, path *field.Path) field.ErrorList {
	return append(oneOf(config.Level, path.Child("level"), v1alpha1.LogLevelDebug, v1alpha1.LogLevelInfo, v1alpha1.LogLevelError),
		oneOf(config.Format, path.Child("format"), v1alpha1.LogFormatJSON, v1alpha1.LogFormatText)...)
}

func validateTracing(config *v1alpha1.TracingConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if config.Endpoint != "" {
		host, port, err := net.SplitHostPort(config.Endpoint)
		if number, invalid := strconv.ParseUint(port, 10, 16); err != nil || host == "" || invalid != nil || number == 0 {
			errs = append(errs, field.Invalid(path.Child("endpoint"), config.Endpoint, "must be HOST:PORT, for instance localhost:4317"))
		}
	}
	if rate := *config.SamplingRatePerMillion; rate < 0 || rate > 1000000 {
		errs = append(errs, field.Invalid(path.Child("samplingRatePerMillion"), rate, "must be between 0 (none) and 1000000 (all)"))
	}
	return errs
}

func validateDebugging(config *v1alpha1.DebuggingConfiguration, path *field.Path) field.ErrorList {
	errs := validateAddress(&config.AddressConfiguration, path)
	if address, err := netip.ParseAddr(config.BindAddress); err != nil || !address.IsLoopback() {
		errs = append(errs, field.Invalid(path.Child("bindAddress"), config.BindAddress,
			"must be a loopback address: every client that reaches it can read profiles"))
	}
	return errs
}

func validateAddress(config *v1alpha1.AddressConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if host := config.BindAddress; host != "" {
		_, err := netip.ParseAddr(host)
		if err != nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
			errs = append(errs, field.Invalid(path.Child("bindAddress"), host, "must be an IP address or a host name"))
		}
	}
	if *config.Port < 0 || *config.Port > 65535 {
		errs = append(errs, field.Invalid(path.Child("port"), *config.Port, "must be between 0 (any free port) and 65535"))
	}
	return errs
}
