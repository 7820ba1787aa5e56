// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	quota "k8s.io/apiserver/pkg/quota/v1"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins/projectmutator"
)

// library registers what the library registers by itself.
func library(plugins *admission.Plugins) {
	lifecycle.Register(plugins)
	mutatingwebhook.Register(plugins)
	validatingwebhook.Register(plugins)
	validatingadmissionpolicy.Register(plugins)
	mutatingadmissionpolicy.Register(plugins)
}

// A plugin that is registered and not in the order never runs; one that is only in the order stops the server.
func TestEveryPluginIsInTheOrder(t *testing.T) {
	plugins := admission.NewPlugins()
	library(plugins)
	Register(plugins)
	registered, order := plugins.Registered(), slices.Sorted(slices.Values(Order()))
	if !slices.Equal(registered, order) {
		t.Errorf("registered: %v\nin the order: %v", registered, order)
	}
	if !slices.Contains(registered, projectmutator.PluginName) {
		t.Errorf("%s is not registered", projectmutator.PluginName)
	}
}

func TestOrder(t *testing.T) {
	place := func(name string) int { return slices.Index(Order(), name) }
	for _, tc := range []struct{ first, then, why string }{
		{lifecycle.PluginName, projectmutator.PluginName, "nothing is done for a namespace that is going"},
		{projectmutator.PluginName, mutatingadmissionpolicy.PluginName, "policies see who created a Project"},
		{projectmutator.PluginName, mutatingwebhook.PluginName, "webhooks see who created a Project"},
		{mutatingadmissionpolicy.PluginName, validatingadmissionpolicy.PluginName, "what changes a request comes before what refuses it"},
		{mutatingwebhook.PluginName, validatingadmissionpolicy.PluginName, "what changes a request comes before what refuses it"},
		{mutatingadmissionpolicy.PluginName, validatingwebhook.PluginName, "what changes a request comes before what refuses it"},
		{validatingadmissionpolicy.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{validatingwebhook.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
	} {
		if place(tc.first) >= place(tc.then) {
			t.Errorf("%s runs after %s, but %s", tc.first, tc.then, tc.why)
		}
	}
	if last := len(Order()) - 1; place(resourcequota.PluginName) != last {
		t.Errorf("%s is not the last", resourcequota.PluginName)
	}
}

// counting is a plugin that wants to count objects.
type counting struct {
	admission.Interface
	configuration quota.Configuration
}

func (c *counting) SetQuotaConfiguration(configuration quota.Configuration) {
	c.configuration = configuration
}

func (*counting) ValidateInitialization() error { return nil }

var _ initializer.WantsQuotaConfiguration = &counting{}

func TestInitializer(t *testing.T) {
	plugin := &counting{}
	Initializer().Initialize(plugin)
	if plugin.configuration == nil {
		t.Fatal("the quota plugin is not told how objects are counted")
	}
	if ignored := plugin.configuration.IgnoredResources(); len(ignored) != 0 {
		t.Errorf("not counted: %v", ignored)
	}
	Initializer().Initialize(projectmutator.New()) // wants nothing, gets nothing
}
