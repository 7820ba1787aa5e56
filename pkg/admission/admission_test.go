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

	"groundskeeper.io/groundskeeper/pkg/admission/plugins/backendresources"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/customverbauthorizer"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/deletionconfirmation"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/discoverybackendreach"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/klusterdiscovery"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/klusterrange"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/ownerreferences"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/projectmutator"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/protectedmetadata"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/quotalabels"
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/terminationprotection"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
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
	for _, name := range []string{projectmutator.PluginName, deletionconfirmation.PluginName, terminationprotection.PluginName, customverbauthorizer.PluginName, backendresources.PluginName, discoverybackendreach.PluginName,
		klusterdiscovery.PluginName, klusterrange.PluginName, protectedmetadata.PluginName, quotalabels.PluginName, ownerreferences.PluginName} {
		if !slices.Contains(registered, name) {
			t.Errorf("%s is not registered", name)
		}
	}
}

func TestOrder(t *testing.T) {
	place := func(name string) int { return slices.Index(Order(), name) }
	for _, tc := range []struct{ first, then, why string }{
		{lifecycle.PluginName, projectmutator.PluginName, "nothing is done for a namespace that is going"},
		{projectmutator.PluginName, mutatingadmissionpolicy.PluginName, "policies see who created a Project"},
		{projectmutator.PluginName, mutatingwebhook.PluginName, "webhooks see who created a Project"},
		{deletionconfirmation.PluginName, mutatingadmissionpolicy.PluginName, "policies see who confirmed a deletion"},
		{deletionconfirmation.PluginName, mutatingwebhook.PluginName, "webhooks see who confirmed a deletion"},
		{terminationprotection.PluginName, deletionconfirmation.PluginName, "nobody confirms the deletion of what is protected"},
		{customverbauthorizer.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{quotalabels.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{mutatingadmissionpolicy.PluginName, quotalabels.PluginName, "a label that a policy sets is judged, too"},
		{mutatingwebhook.PluginName, protectedmetadata.PluginName, "what changes a request comes before what refuses it"},
		{mutatingadmissionpolicy.PluginName, protectedmetadata.PluginName, "what changes a request comes before what refuses it"},
		{protectedmetadata.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{mutatingwebhook.PluginName, ownerreferences.PluginName, "what changes a request comes before what refuses it"},
		{mutatingadmissionpolicy.PluginName, ownerreferences.PluginName, "what changes a request comes before what refuses it"},
		{ownerreferences.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{mutatingadmissionpolicy.PluginName, backendresources.PluginName, "what changes a request comes before what refuses it"},
		{mutatingwebhook.PluginName, backendresources.PluginName, "what changes a request comes before what refuses it"},
		{mutatingadmissionpolicy.PluginName, discoverybackendreach.PluginName, "no policy widens the reach of a backend"},
		{mutatingwebhook.PluginName, discoverybackendreach.PluginName, "no webhook widens the reach of a backend"},
		{discoverybackendreach.PluginName, validatingadmissionpolicy.PluginName, "policies see the reach that a backend has"},
		{backendresources.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{mutatingadmissionpolicy.PluginName, klusterdiscovery.PluginName, "a policy that announces a Kluster is judged, too"},
		{mutatingwebhook.PluginName, klusterdiscovery.PluginName, "a webhook that announces a Kluster is judged, too"},
		{mutatingadmissionpolicy.PluginName, klusterrange.PluginName, "what changes a request comes before what refuses it"},
		{mutatingwebhook.PluginName, klusterrange.PluginName, "what changes a request comes before what refuses it"},
		{klusterdiscovery.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
		{klusterrange.PluginName, resourcequota.PluginName, "nothing is counted that is refused"},
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

// asking is a plugin that wants to ask the server that it is part of.
type asking struct {
	admission.Interface
	client versioned.Interface
}

func (a *asking) SetClient(own versioned.Interface) { a.client = own }

// reaching is a plugin that wants to know whose backends reach into all namespaces.
type reaching struct {
	admission.Interface
	namespaces []string
	keys       []string
	confirmed  deletionconfirmation.Backends
}

func (r *reaching) SetConfirmedBackends(which deletionconfirmation.Backends) { r.confirmed = which }

func (r *reaching) SetDiscoveryAdminNamespaces(namespaces []string) { r.namespaces = namespaces }

func (r *reaching) SetProjectQuotaLabels(keys []string) { r.keys = keys }

var _ initializer.WantsQuotaConfiguration = &counting{}

func TestInitializer(t *testing.T) {
	plugin, own := &counting{}, fake.NewClientset()
	Initializer(own, Settings{}).Initialize(plugin)
	if plugin.configuration == nil {
		t.Fatal("the quota plugin is not told how objects are counted")
	}
	if ignored := plugin.configuration.IgnoredResources(); len(ignored) != 0 {
		t.Errorf("not counted: %v", ignored)
	}
	asking := &asking{}
	Initializer(own, Settings{}).Initialize(asking)
	if asking.client != own {
		t.Error("a plugin that asks the server itself is given no client of it")
	}
	confirmation := deletionconfirmation.New()
	Initializer(own, Settings{}).Initialize(confirmation)
	if err := confirmation.ValidateInitialization(); err != nil {
		t.Error(err)
	}
	resources := backendresources.New()
	Initializer(own, Settings{}).Initialize(resources)
	resources.SetDrainedNotification(t.Context().Done())
	if err := resources.ValidateInitialization(); err != nil {
		t.Error(err)
	}
	ranges := klusterrange.New()
	Initializer(own, Settings{}).Initialize(ranges)
	ranges.SetDrainedNotification(t.Context().Done())
	if err := ranges.ValidateInitialization(); err != nil {
		t.Error(err)
	}
	told := &reaching{}
	Initializer(own, Settings{DiscoveryAdmins: []string{"a"}, ConfirmedBackends: deletionconfirmation.AllBackends, QuotaLabels: []string{"size"}}).Initialize(told)
	if !slices.Equal(told.namespaces, []string{"a"}) {
		t.Errorf("the admin namespaces of backends are told as %q", told.namespaces)
	}
	if told.confirmed != deletionconfirmation.AllBackends {
		t.Errorf("backends that need a confirmation = %q, want %q", told.confirmed, deletionconfirmation.AllBackends)
	}
	if !slices.Equal(told.keys, []string{"size"}) {
		t.Errorf("the labels of quotas are told as %q", told.keys)
	}
	Initializer(own, Settings{}).Initialize(projectmutator.New()) // wants nothing, gets nothing
}
