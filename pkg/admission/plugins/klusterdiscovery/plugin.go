// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package klusterdiscovery is the admission plugin that lets a Kluster be announced as a DiscoveryBackend only by who may
// create DiscoveryBackends in that namespace: the controller manager, which makes it, has the right everywhere.
package klusterdiscovery

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "KlusterDiscovery"

// Plugin queries the authorizer of the server for the permission to create DiscoveryBackends.
type Plugin struct {
	*admission.Handler
	plugins.Permissions
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetUnconditionalAuthorizer before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Validate rejects a request that has a cluster announced in a namespace where the user may not create DiscoveryBackends.
// It compares what is stored with what would be stored, so that a request to whatever subresource is judged by what it
// does, and a request that leaves the announcement unchanged needs no review.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != kubernikusv1.Resource("klusters") {
		return nil
	}
	kluster, old, err := plugins.Objects[kubernikusv1.Kluster](a)
	if err != nil {
		return err
	}
	field := announces(old, kluster)
	if field == "" {
		return nil
	}
	namespace, user := kluster.Spec.Discovery.Namespace, a.GetUserInfo()
	allowed, err := p.Allowed(ctx, authorizer.AttributesRecord{
		User: user, Verb: "create", APIGroup: gimbalv1.GroupName, APIVersion: gimbalv1.SchemeGroupVersion.Version, Resource: "discoverybackends",
		Namespace: namespace, ResourceRequest: true,
	})
	switch {
	case allowed:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("check whether user %q is allowed to create discoverybackends.%s in namespace %q: %w",
			user.GetName(), gimbalv1.GroupName, namespace, err))
	}
	return admission.NewForbidden(a, fmt.Errorf("%s: user %q cannot create discoverybackends.%s in namespace %q, where this would announce "+
		"the cluster: request that permission, or omit the field",
		field, user.GetName(), gimbalv1.GroupName, namespace))
}

// announces names the field by which a change has the cluster announced where it was not, "" when it does not.
func announces(old, kluster *kubernikusv1.Kluster) string {
	switch before, now := discoveryOf(old), discoveryOf(kluster); {
	case !now.Enabled:
		return ""
	case !before.Enabled:
		return "spec.discovery.enabled"
	case before.Namespace != now.Namespace:
		return "spec.discovery.namespace"
	}
	return ""
}

func discoveryOf(kluster *kubernikusv1.Kluster) kubernikusv1.DiscoverySpec {
	if kluster == nil || kluster.Spec.Discovery == nil {
		return kubernikusv1.DiscoverySpec{}
	}
	return *kluster.Spec.Discovery
}
