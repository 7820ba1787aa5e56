// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package discoverybackendreach is the admission plugin that keeps DiscoveryBackends in their own namespace: a backend
// publishes Services here, and only backends of administrators are allowed to do so in other namespaces.
package discoverybackendreach

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "DiscoveryBackendReach"

// New returns the plugin. As long as SetDiscoveryAdminNamespaces names none, no backend reaches beyond its namespace.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// Plugin sets cluster.namespaces.allow of backends outside the admin namespaces to their own namespace.
type Plugin struct {
	*admission.Handler
	admins []string
}

var _ admission.MutationInterface = &Plugin{}

// SetDiscoveryAdminNamespaces names the namespaces whose backends reach into all others.
func (p *Plugin) SetDiscoveryAdminNamespaces(namespaces []string) {
	p.admins = slices.Clone(namespaces)
}

// Admit rewrites the field, for every user: what is denied stays denied, and a backend that denies its own namespace
// discovers nothing.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != gimbalv1.Resource("discoverybackends") || a.GetSubresource() != "" ||
		slices.Contains(p.admins, a.GetNamespace()) {
		return nil
	}
	backend, ok := a.GetObject().(*gimbalv1.DiscoveryBackend)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T is not a DiscoveryBackend", a.GetObject()))
	}
	own, wanted := []string{a.GetNamespace()}, backend.Cluster.Namespaces.Allow
	if slices.Equal(wanted, own) {
		return nil
	}
	if len(wanted) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("cluster.namespaces.allow is set to %q instead of %q: only a backend in one of the namespaces "+
			"%q can publish in others",
			own, wanted, p.admins))
	}
	backend.Cluster.Namespaces.Allow = own
	return nil
}
