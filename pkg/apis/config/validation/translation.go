// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateTranslation(
	config *v1alpha1.TranslationConfiguration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path,
) field.ErrorList {
	errs := each(config.ServiceTypes, path.Child("serviceTypes"),
		among(corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer))
	errs = append(errs, atLeast(0, config.NodeGracePeriod, path.Child("nodeGracePeriod"))...)
	errs = append(errs, validatePush(&config.Push, path.Child("push"))...)
	errs = append(errs, validateBackend(config, path)...)
	errs = append(errs, each(config.OVN.NodeAddressTypes, path.Child("ovn", "nodeAddressTypes"),
		among(corev1.NodeInternalIP, corev1.NodeExternalIP))...)
	errs = append(errs, validateOVN(&config.OVN, election, path.Child("ovn"))...)
	return append(errs, validateMidoNet(&config.MidoNet, election, path.Child("midonet"))...)
}

// validateBackend wants one backend at most.
func validateBackend(config *v1alpha1.TranslationConfiguration, path *field.Path) field.ErrorList {
	at, configured := path.Child("backend"), config.Configured()
	unsupported := oneOf(config.Backend, at, v1alpha1.BackendMidoNet, v1alpha1.BackendOVN)
	switch {
	case config.MidoNet.URL != "" && len(config.OVN.Endpoints) > 0:
		return field.ErrorList{field.Forbidden(path.Child("ovn", "endpoints"), "midonet.url is set as well: configure one backend")}
	case config.Backend == "" || config.Backend == configured:
		return nil
	case unsupported != nil:
		return unsupported
	case config.Backend == v1alpha1.BackendMidoNet:
		return field.ErrorList{field.Required(path.Child("midonet", "url"), "backend is midonet")}
	default:
		return field.ErrorList{field.Required(path.Child("ovn", "endpoints"), "backend is ovn")}
	}
}

func validateOVN(config *v1alpha1.OVNConfiguration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	if len(config.Endpoints) == 0 {
		return nil // nothing of it is used
	}
	errs := validateEndpoints(config.Endpoints, "ssl:ovn.example.com:6641", path.Child("endpoints"))
	errs = append(errs, validateEndpoints(config.SouthboundEndpoints, "ssl:ovn.example.com:6642", path.Child("southboundEndpoints"))...)
	secure := slices.ContainsFunc(slices.Concat(config.Endpoints, config.SouthboundEndpoints),
		func(endpoint string) bool { return strings.HasPrefix(endpoint, "ssl:") })
	if secure && config.CAFile == "" {
		errs = append(errs, field.Required(path.Child("caFile"), "an endpoint has ssl: name the file with the certificates of its CA"))
	}
	switch {
	case config.CertFile != "" && config.KeyFile == "":
		errs = append(errs, field.Required(path.Child("keyFile"), "certFile is set: name the file that holds the key of the certificate"))
	case config.CertFile == "" && config.KeyFile != "":
		errs = append(errs, field.Required(path.Child("certFile"), "keyFile is set: name the file that holds the certificate of the key"))
	}
	return append(errs, validateWriteTimeout(config.Timeout.Duration, election, path.Child("timeout"))...)
}

// validateEndpoints wants endpoints of a database, of which an error gives an example.
func validateEndpoints(endpoints []string, example string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, endpoint := range endpoints {
		at := path.Index(i)
		scheme, rest, _ := strings.Cut(endpoint, ":")
		host, port, err := net.SplitHostPort(rest)
		switch {
		case slices.Contains(endpoints[:i], endpoint):
			errs = append(errs, field.Duplicate(at, endpoint))
		case scheme == "unix" && strings.HasPrefix(rest, "/"):
		case scheme != "tcp" && scheme != "ssl" || err != nil || host == "" || port == "":
			errs = append(errs, field.Invalid(at, endpoint, "must be tcp:HOST:PORT, ssl:HOST:PORT or unix:/PATH, for instance "+example))
		}
	}
	return errs
}

// validateWriteTimeout wants a write to end before another replica can lead.
func validateWriteTimeout(timeout time.Duration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	spare := election.LeaseDuration.Duration - election.RenewDeadline.Duration
	switch {
	case timeout <= 0:
		return field.ErrorList{field.Invalid(path, timeout.String(), "must be greater than 0s")}
	case *election.LeaderElect && spare > 0 && timeout >= spare: // a spare of 0 is a separate error
		return field.ErrorList{field.Invalid(path, timeout.String(), "must be shorter than leaderElection.leaseDuration less renewDeadline, "+
			spare.String()+": a write of a former leader must not land after another one began")}
	default:
		return nil
	}
}

func validatePush(config *v1alpha1.PushConfiguration, path *field.Path) field.ErrorList {
	errs := oneOf(config.Mode, path.Child("mode"), v1alpha1.PushModeRepair, v1alpha1.PushModeObserve, v1alpha1.PushModePlan)
	errs = append(errs, validateWorkers(*config.Concurrency, path.Child("concurrency"))...)
	errs = append(errs, atLeast(time.Second, config.DriftInterval, path.Child("driftInterval"))...)
	return append(errs, oneOf(config.Orphans, path.Child("orphans"), v1alpha1.OrphanPolicyReport, v1alpha1.OrphanPolicyDelete)...)
}

func validateMidoNet(
	config *v1alpha1.MidoNetConfiguration, election *v1alpha1.LeaderElectionConfiguration, path *field.Path,
) field.ErrorList {
	if config.URL == "" {
		return nil // nothing of it is used
	}
	var errs field.ErrorList
	u, err := url.Parse(config.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		// The value is not repeated: it may hold a password.
		errs = append(errs, field.Invalid(path.Child("url"), "", "must be a URL with http or https and a host, for instance "+
			"http://midonet:8181/midonet-api"))
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
	return append(errs, validateWriteTimeout(config.Timeout.Duration, election, path.Child("timeout"))...)
}
