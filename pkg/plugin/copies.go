// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// endpointsOf adds that a Service which a discoverer copied has no ready endpoint, so that the requests that routes send to it fail, and
// why.
func (c *command) endpointsOf(ctx context.Context, service *corev1.Service, idle report.Idle, r *report.Report) error {
	name := desired.BackendOf(service.Labels)
	if name == "" || service.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	backend, err := c.backendNamed(ctx, name)
	if err != nil {
		return err
	}
	if backend != nil {
		r.Add(backendsTitle, backend, report.Of(backend, idle, c.clock.Now())...)
	}
	all := &discoveryv1.EndpointSliceList{}
	err = c.listIn(ctx, r, "EndpointSlices", service.Namespace, all, func() int { return len(all.Items) },
		client.MatchingLabels{discoveryv1.LabelServiceName: service.Name})
	if err != nil || r.Checked[len(r.Checked)-1].Problem != "" {
		return err
	}
	if slices.ContainsFunc(all.Items, func(slice discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
	}) {
		return nil
	}
	cause := report.Found(report.Warning, "has no ready endpoint, so requests that routes send to it fail: check the Service in backend %s", name)
	switch {
	case backend == nil:
	case backend.Status.EndpointsDrained:
		cause = report.Found(report.InProgress, "has no ready endpoint while backend %s is in maintenance", name)
	case backend.Status.Routes != nil && backend.Status.Routes.WithoutEndpoints != nil:
		cause.Message += fmt.Sprintf("; status.routes.withoutEndpoints of it counts %d routes", backend.Status.Routes.WithoutEndpoints.Count)
	}
	r.Add("Services", service, cause)
	return nil
}

// backendNamed returns the DiscoveryBackend with a name, in whatever namespace; nil when there is none, or the user is not allowed to list
// them.
func (c *command) backendNamed(ctx context.Context, name string) (*gimbalv1.DiscoveryBackend, error) {
	all := &gimbalv1.DiscoveryBackendList{}
	if err := c.client.List(ctx, all); meta.IsNoMatchError(err) || apierrors.IsForbidden(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list DiscoveryBackends: %w", err)
	}
	if i := slices.IndexFunc(all.Items, func(b gimbalv1.DiscoveryBackend) bool { return b.Name == name }); i >= 0 {
		return &all.Items[i], nil
	}
	return nil, nil
}
