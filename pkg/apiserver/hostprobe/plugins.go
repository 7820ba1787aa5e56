// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package hostprobe

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	lifecycle "k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
)

// PriorityAndFairness is the name of the one feature that is no admission plugin
// (--enable-priority-and-fairness).
const PriorityAndFairness = "PriorityAndFairness"

// feature is an admission plugin, or another part of the server, that lists and watches the host.
type feature struct {
	name      string
	resources []schema.GroupVersionResource
}

// features returns what the library of this version watches: the informers in k8s.io/apiserver
// v0.37 pkg/admission/plugin and pkg/util/flowcontrol. The versions are those of its informers; a
// host that serves only another one (MutatingAdmissionPolicy before 1.36) does not help.
func features() []feature {
	namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
	admission := admissionregistrationv1.SchemeGroupVersion.WithResource
	return []feature{
		{lifecycle.PluginName, []schema.GroupVersionResource{namespaces}},
		{mutatingpolicy.PluginName, []schema.GroupVersionResource{admission("mutatingadmissionpolicies"),
			admission("mutatingadmissionpolicybindings"), namespaces}},
		{mutatingwebhook.PluginName, []schema.GroupVersionResource{admission("mutatingwebhookconfigurations"), namespaces}},
		{validatingpolicy.PluginName, []schema.GroupVersionResource{admission("validatingadmissionpolicies"),
			admission("validatingadmissionpolicybindings"), namespaces}},
		{validatingwebhook.PluginName, []schema.GroupVersionResource{admission("validatingwebhookconfigurations"), namespaces}},
		{resourcequota.PluginName, []schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("resourcequotas")}},
		{PriorityAndFairness, []schema.GroupVersionResource{
			flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas"),
			flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")}},
	}
}

// access is what the host lets this server do with a resource.
type access struct {
	served, list, watch bool
}

// Disabled is a feature that must be off on this host, and why.
type Disabled struct {
	// Name is the name of an admission plugin, or PriorityAndFairness.
	Name string
	// Reason names the resource that is missing or forbidden.
	Reason string
}

// decide returns the features that could never become ready, in the order given.
func decide(features []feature, found map[schema.GroupVersionResource]access) []Disabled {
	var disabled []Disabled
	for _, f := range features {
		for _, resource := range f.resources {
			if reason := found[resource].obstacle(resource); reason != "" {
				disabled = append(disabled, Disabled{Name: f.name, Reason: reason})
				break
			}
		}
	}
	return disabled
}

// obstacle reports why a resource cannot be watched, "" when it can.
func (a access) obstacle(resource schema.GroupVersionResource) string {
	name := fmt.Sprintf("%s (%s)", resource.Resource, resource.GroupVersion())
	switch {
	case !a.served:
		return "the kube-apiserver does not serve " + name
	case !a.list:
		return "this server may not list " + name
	case !a.watch:
		return "this server may not watch " + name
	default:
		return ""
	}
}
