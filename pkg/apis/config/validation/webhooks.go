// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateWebhooks(config *v1alpha1.WebhooksConfiguration, path *field.Path) field.ErrorList {
	errs := validateAddress(&config.AddressConfiguration, path)
	errs = append(errs, validateCertificates(&config.Certificates, path.Child("certificates"))...)
	return append(errs, validateResourceSize(&config.ResourceSize, path.Child("resourceSize"))...)
}

func validateCertificates(config *v1alpha1.CertificatesConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	files := []struct{ name, value string }{{"certFile", config.CertFile}, {"keyFile", config.KeyFile}}
	switch config.Mode {
	case v1alpha1.CertificatesSelfManaged:
		for _, file := range files {
			if file.value != "" {
				errs = append(errs, field.Forbidden(path.Child(file.name), "only mode Files reads it"))
			}
		}
	case v1alpha1.CertificatesFiles:
		for _, file := range files {
			if file.value == "" {
				errs = append(errs, field.Required(path.Child(file.name), "mode Files reads it"))
			}
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("mode"), config.Mode,
			[]v1alpha1.CertificatesMode{v1alpha1.CertificatesSelfManaged, v1alpha1.CertificatesFiles}))
	}
	return errs
}

func validateResourceSize(config *v1alpha1.ResourceSizeConfiguration, path *field.Path) field.ErrorList {
	errs := oneOf(config.Mode, path.Child("mode"), v1alpha1.ResourceSizeBlock, v1alpha1.ResourceSizeLog)
	for i := range config.Limits {
		errs = append(errs, validateLimit(&config.Limits[i], path.Child("limits").Index(i))...)
	}
	for i, subject := range config.UnrestrictedSubjects {
		errs = append(errs, validateSubject(subject, path.Child("unrestrictedSubjects").Index(i))...)
	}
	return errs
}

func validateLimit(limit *v1alpha1.ResourceLimit, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(limit.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), `name a group; "" is the core group, "*" all of them`))
	}
	if len(limit.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), `name a resource; "*" is all of them`))
	}
	if slices.Contains(limit.Resources, "") {
		errs = append(errs, field.Invalid(path.Child("resources"), limit.Resources, "a resource has a name"))
	}
	if limit.Size == nil && limit.Count == nil {
		errs = append(errs, field.Required(path.Child("size"), "limit the size, the count, or both"))
	}
	if limit.Size != nil && limit.Size.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("size"), limit.Size.String(), "must be greater than or equal to 0"))
	}
	if limit.Count != nil && *limit.Count < 0 {
		errs = append(errs, field.Invalid(path.Child("count"), *limit.Count, "must be greater than or equal to 0"))
	}
	return errs
}

func validateSubject(subject rbacv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if subject.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name the user, the group or the service account"))
	}
	switch subject.Kind {
	case rbacv1.UserKind, rbacv1.GroupKind:
		if subject.Namespace != "" {
			errs = append(errs, field.Forbidden(path.Child("namespace"), "only a ServiceAccount has one"))
		}
	case rbacv1.ServiceAccountKind:
		if subject.Namespace == "" {
			errs = append(errs, field.Required(path.Child("namespace"), "a ServiceAccount has one"))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), subject.Kind,
			[]string{rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind}))
	}
	return errs
}

// webhooks is the entry of controllers.enabled that serves webhooks.
const webhooks = "webhooks"

// validatePorts checks that no two servers listen on the same port of an address.
func validatePorts(config *v1alpha1.ControllerManagerConfiguration, path *field.Path) field.ErrorList {
	server, enabled := &config.Server, config.Controllers.Enabled
	type listener struct {
		name    string
		address *v1alpha1.AddressConfiguration
	}
	listeners := []listener{{"health", &server.Health}}
	if server.Debugging.Enabled != nil && *server.Debugging.Enabled {
		listeners = append(listeners, listener{"debugging", &server.Debugging.AddressConfiguration})
	}
	if (slices.Contains(enabled, "*") || slices.Contains(enabled, webhooks)) && !slices.Contains(enabled, "-"+webhooks) {
		listeners = append(listeners, listener{"webhooks", &server.Webhooks.AddressConfiguration})
	}
	var errs field.ErrorList
	for i, second := range listeners {
		for _, first := range listeners[:i] {
			if collide(first.address, second.address) {
				errs = append(errs, field.Invalid(path.Child(second.name, "port"), *second.address.Port,
					fmt.Sprintf("is the port of %s, too: choose another one", path.Child(first.name))))
			}
		}
	}
	return errs
}

// collide reports whether two servers cannot listen at the same time.
func collide(a, b *v1alpha1.AddressConfiguration) bool {
	if *a.Port != *b.Port || *a.Port == 0 {
		return false
	}
	return a.BindAddress == b.BindAddress || everywhere(a.BindAddress) || everywhere(b.BindAddress)
}

// everywhere reports whether an address stands for all of the machine.
func everywhere(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "" || err == nil && address.IsUnspecified()
}
