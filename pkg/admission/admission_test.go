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
	"k8s.io/apiserver/pkg/authentication/user"
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
	"groundskeeper.io/groundskeeper/pkg/admission/plugins/twins"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

// library registers what the library registers by default.
func library(plugins *admission.Plugins) {
	lifecycle.Register(plugins)
	mutatingwebhook.Register(plugins)
	validatingwebhook.Register(plugins)
	validatingadmissionpolicy.Register(plugins)
	mutatingadmissionpolicy.Register(plugins)
}

// TestEveryPluginIsInTheOrder checks that each registered plugin is in the order, because it would never run otherwise, and that
// each plugin in the order is registered, because the server would not start otherwise.
func TestEveryPluginIsInTheOrder(t *testing.T) {
	plugins := admission.NewPlugins()
	library(plugins)
	Register(plugins)
	registered, order := plugins.Registered(), slices.Sorted(slices.Values(Order()))
	if !slices.Equal(registered, order) {
		t.Errorf("registered: %v\nin the order: %v", registered, order)
	}
	for _, name := range []string{projectmutator.PluginName, deletionconfirmation.PluginName, terminationprotection.PluginName, customverbauthorizer.PluginName, backendresources.PluginName, discoverybackendreach.PluginName,
		twins.BackendsName, klusterdiscovery.PluginName, klusterrange.PluginName, protectedmetadata.PluginName, quotalabels.PluginName, ownerreferences.PluginName} {
		if !slices.Contains(registered, name) {
			t.Errorf("%s is not registered", name)
		}
	}
}

// TestRegisteredPluginWorks checks that what is registered is the plugin itself, by the name that is an argument of
// --disable-admission-plugins.
func TestRegisteredPluginWorks(t *testing.T) {
	plugins := admission.NewPlugins()
	Register(plugins)
	registered, err := plugins.InitPlugin("ProjectMutator", nil, Initializer(nil, Settings{}))
	if err != nil {
		t.Fatal(err)
	}
	project, group := &gardenerv1beta1.Project{}, gardenerv1beta1.SchemeGroupVersion
	request := admission.NewAttributesRecord(project, nil, group.WithKind("Project"), "", "shop", group.WithResource("projects"), "",
		admission.Create, nil, false, &user.DefaultInfo{Name: "alice"})
	if err := registered.(admission.MutationInterface).Admit(t.Context(), request, nil); err != nil {
		t.Fatal(err)
	}
	if project.Spec.CreatedBy == nil {
		t.Error("the registered plugin does nothing")
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
		{terminationprotection.PluginName, deletionconfirmation.PluginName, "the deletion of protected objects is not confirmed"},
		{customverbauthorizer.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{quotalabels.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{mutatingadmissionpolicy.PluginName, quotalabels.PluginName, "a label that a policy sets is judged, too"},
		{mutatingwebhook.PluginName, protectedmetadata.PluginName, "mutating plugins come before validating ones"},
		{mutatingadmissionpolicy.PluginName, protectedmetadata.PluginName, "mutating plugins come before validating ones"},
		{protectedmetadata.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{mutatingwebhook.PluginName, ownerreferences.PluginName, "mutating plugins come before validating ones"},
		{mutatingadmissionpolicy.PluginName, ownerreferences.PluginName, "mutating plugins come before validating ones"},
		{ownerreferences.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{mutatingadmissionpolicy.PluginName, backendresources.PluginName, "mutating plugins come before validating ones"},
		{mutatingwebhook.PluginName, backendresources.PluginName, "mutating plugins come before validating ones"},
		{mutatingadmissionpolicy.PluginName, discoverybackendreach.PluginName, "no policy widens the reach of a backend"},
		{mutatingwebhook.PluginName, discoverybackendreach.PluginName, "no webhook widens the reach of a backend"},
		{discoverybackendreach.PluginName, validatingadmissionpolicy.PluginName, "policies see the reach that a backend has"},
		{backendresources.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{mutatingadmissionpolicy.PluginName, klusterdiscovery.PluginName, "a policy that announces a Kluster is judged, too"},
		{mutatingwebhook.PluginName, klusterdiscovery.PluginName, "a webhook that announces a Kluster is judged, too"},
		{mutatingadmissionpolicy.PluginName, klusterrange.PluginName, "mutating plugins come before validating ones"},
		{mutatingwebhook.PluginName, klusterrange.PluginName, "mutating plugins come before validating ones"},
		{mutatingadmissionpolicy.PluginName, twins.BackendsName, "mutating plugins come before validating ones"},
		{mutatingwebhook.PluginName, twins.BackendsName, "mutating plugins come before validating ones"},
		{klusterdiscovery.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{klusterrange.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{mutatingadmissionpolicy.PluginName, validatingadmissionpolicy.PluginName, "mutating plugins come before validating ones"},
		{mutatingwebhook.PluginName, validatingadmissionpolicy.PluginName, "mutating plugins come before validating ones"},
		{mutatingadmissionpolicy.PluginName, validatingwebhook.PluginName, "mutating plugins come before validating ones"},
		{validatingadmissionpolicy.PluginName, resourcequota.PluginName, "rejected requests do not count"},
		{validatingwebhook.PluginName, resourcequota.PluginName, "rejected requests do not count"},
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

// selfClient is a plugin that needs a client of the server itself.
type selfClient struct {
	admission.Interface
	client versioned.Interface
}

func (a *selfClient) SetClient(own versioned.Interface) { a.client = own }

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
		t.Fatal("the quota plugin has no evaluators")
	}
	if ignored := plugin.configuration.IgnoredResources(); len(ignored) != 0 {
		t.Errorf("not counted: %v", ignored)
	}
	selfClient := &selfClient{}
	Initializer(own, Settings{}).Initialize(selfClient)
	if selfClient.client != own {
		t.Error("a plugin that needs a client of its server has none")
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
	notified := &reaching{}
	Initializer(own, Settings{DiscoveryAdmins: []string{"a"}, ConfirmedBackends: deletionconfirmation.AllBackends, QuotaLabels: []string{"size"}}).Initialize(notified)
	if !slices.Equal(notified.namespaces, []string{"a"}) {
		t.Errorf("admin namespaces of backends = %q", notified.namespaces)
	}
	if notified.confirmed != deletionconfirmation.AllBackends {
		t.Errorf("backends that need a confirmation = %q, want %q", notified.confirmed, deletionconfirmation.AllBackends)
	}
	if !slices.Equal(notified.keys, []string{"size"}) {
		t.Errorf("labels of quotas = %q", notified.keys)
	}
	Initializer(own, Settings{}).Initialize(projectmutator.New()) // wants nothing, gets nothing
}
