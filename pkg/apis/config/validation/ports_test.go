// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// Two servers on one port are rejected before either starts.
func TestPortsThatCollide(t *testing.T) {
	address := func(host string, port int32) v1alpha1.AddressConfiguration {
		return v1alpha1.AddressConfiguration{BindAddress: host, Port: &port}
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.ControllerManagerConfiguration)
		want   string
	}{
		"defaults": {change: func(*v1alpha1.ControllerManagerConfiguration) {}},
		"same port": {func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Webhooks.AddressConfiguration = address("", 8080)
			c.Server.Health = address("", 8080)
		}, "server.webhooks.port"},
		"one everywhere": {func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Webhooks.AddressConfiguration = address("0.0.0.0", 8080)
			c.Server.Health = address("127.0.0.1", 8080)
		}, "server.webhooks.port"},
		"other addresses": {change: func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Webhooks.AddressConfiguration = address("10.0.0.1", 8080)
			c.Server.Health = address("127.0.0.1", 8080)
		}},
		"any free port": {change: func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Webhooks.AddressConfiguration = address("", 0)
			c.Server.Health = address("", 0)
		}},
		"no webhooks": {change: func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Webhooks.AddressConfiguration, c.Server.Health = address("", 8080), address("", 8080)
			c.Controllers.Enabled = []string{"*", "-webhooks"}
		}},
		"debugging": {func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Debugging.Enabled, c.Server.Debugging.AddressConfiguration, c.Server.Health = new(true), address("127.0.0.1", 8080), address("", 8080)
		}, "server.debugging.port"},
		"debugging is off": {change: func(c *v1alpha1.ControllerManagerConfiguration) {
			c.Server.Debugging.Enabled, c.Server.Debugging.AddressConfiguration, c.Server.Health = new(false), address("127.0.0.1", 8080), address("", 8080)
		}},
	} {
		config := &v1alpha1.ControllerManagerConfiguration{}
		v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
		test.change(config)
		errs := validatePorts(config, field.NewPath("server"))
		if (len(errs) > 0) != (test.want != "") || len(errs) > 0 && errs[0].Field != test.want {
			t.Errorf("%s: errors = %v, want one of %q", name, errs, test.want)
		}
	}
}
