// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package admission lists the admission plugins of the server, in their order.
package admission

import (
	"io"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	quota "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"groundskeeper.io/groundskeeper/pkg/admission/parameters"
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
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// Register offers Groundskeeper's own plugins, and those of the library that a server must register explicitly.
func Register(plugins *admission.Plugins) {
	resourcequota.Register(plugins)
	register(plugins, projectmutator.PluginName, projectmutator.New)
	register(plugins, terminationprotection.PluginName, terminationprotection.New)
	register(plugins, deletionconfirmation.PluginName, deletionconfirmation.New)
	register(plugins, customverbauthorizer.PluginName, customverbauthorizer.New)
	register(plugins, quotalabels.PluginName, quotalabels.New)
	register(plugins, protectedmetadata.PluginName, protectedmetadata.New)
	register(plugins, ownerreferences.PluginName, ownerreferences.New)
	register(plugins, backendresources.PluginName, backendresources.New)
	register(plugins, discoverybackendreach.PluginName, discoverybackendreach.New)
	register(plugins, klusterdiscovery.PluginName, klusterdiscovery.New)
	register(plugins, klusterrange.PluginName, klusterrange.New)
	register(plugins, twins.KlustersName, twins.OfKlusters)
	register(plugins, twins.BackendsName, twins.OfBackends)
}

func register[P admission.Interface](plugins *admission.Plugins, name string, plugin func() P) {
	plugins.Register(name, func(io.Reader) (admission.Interface, error) { return plugin(), nil })
}

// Order lists the plugins in the order in which they see a request: mutating plugins first, then validating ones. The
// protection of a Kluster comes before the confirmation of its deletion, so that no user confirms in vain. The reach of a
// backend is the last to change one, so that no policy widens it again. The quota is last, so that nothing is counted
// that another plugin rejects.
func Order() []string {
	return []string{
		lifecycle.PluginName,
		projectmutator.PluginName,
		terminationprotection.PluginName,
		deletionconfirmation.PluginName,
		mutatingadmissionpolicy.PluginName,
		mutatingwebhook.PluginName,
		discoverybackendreach.PluginName,
		customverbauthorizer.PluginName,
		quotalabels.PluginName,
		protectedmetadata.PluginName,
		ownerreferences.PluginName,
		backendresources.PluginName,
		klusterdiscovery.PluginName,
		klusterrange.PluginName,
		twins.KlustersName,
		twins.BackendsName,
		validatingadmissionpolicy.PluginName,
		validatingwebhook.PluginName,
		resourcequota.PluginName,
	}
}

// Settings are what the options of the server configure of plugins.
type Settings struct {
	// DiscoveryAdmins are the namespaces whose DiscoveryBackends reach into all others.
	DiscoveryAdmins []string
	// ConfirmedBackends is which DiscoveryBackends need a confirmation to be deleted.
	ConfirmedBackends deletionconfirmation.Backends
	// QuotaLabels are the keys of the labels that select the quotas of Projects.
	QuotaLabels []string
	// Informers and Objects read the management cluster, for policies.
	Informers informers.SharedInformerFactory
	Objects   dynamic.Interface
}

// Initializer injects the dependencies of plugins: the quota plugin gets the evaluators of objects, Groundskeeper's own plugins
// a client of the server that they are part of, and their settings.
func Initializer(own versioned.Interface, settings Settings) admission.PluginInitializer {
	return pluginInitializer{own, settings}
}

type pluginInitializer struct {
	own      versioned.Interface
	settings Settings
}

func (i pluginInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(quota.NewConfiguration(nil, nil))
	}
	if wants, ok := plugin.(interface{ SetClient(own versioned.Interface) }); ok {
		wants.SetClient(i.own)
	}
	if wants, ok := plugin.(interface{ SetDiscoveryAdminNamespaces(namespaces []string) }); ok {
		wants.SetDiscoveryAdminNamespaces(i.settings.DiscoveryAdmins)
	}
	if wants, ok := plugin.(interface {
		SetConfirmedBackends(which deletionconfirmation.Backends)
	}); ok {
		wants.SetConfirmedBackends(i.settings.ConfirmedBackends)
	}
	if wants, ok := plugin.(interface{ SetProjectQuotaLabels(keys []string) }); ok {
		wants.SetProjectQuotaLabels(i.settings.QuotaLabels)
	}
	switch policies := plugin.(type) { // instead of the shared informers, which the library has set
	case *validatingadmissionpolicy.Plugin:
		policies.SetExternalKubeInformerFactory(parameters.NewFactory(i.settings.Informers, i.settings.Objects))
	case *mutatingadmissionpolicy.Plugin:
		policies.SetExternalKubeInformerFactory(parameters.NewFactory(i.settings.Informers, i.settings.Objects))
	}
}
