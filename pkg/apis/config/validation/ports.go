// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

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
