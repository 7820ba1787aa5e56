// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

// maxNamed is how many routes a message or an event names.
const maxNamed = 3

// references takes references to the Services of a backend out of routes.
type references interface {
	Remove(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (release.Result, error)
}

// newReferences returns those of a cluster.
func newReferences(mgr manager.Manager, adminNamespaces []string) (references, error) {
	routes, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client of routes of controller %s: %w", ControllerName, err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the discovery client of controller %s: %w", ControllerName, err)
	}
	return &release.References{Live: mgr.GetAPIReader(), Routes: routes, Find: kinds.NewFinder(served), AdminNamespaces: adminNamespaces}, nil
}

// removeReferences takes the references to the backend's Services out of all routes, as long as the Services are there
// to tell which those are. References that have to stay are no reason to wait.
func (r *reconciler) removeReferences(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	result, err := r.references.Remove(ctx, backend)
	if count := len(result.Removed); count > 0 {
		log.FromContext(ctx).Info("Removed the references to a backend that goes", "routes", result.Removed)
		r.tell(backend, eventReferencesRemoved, actionDelete, fmt.Sprintf("removed the references from %s: %s", status.Plural(count, "route"), some(result.Removed)))
	}
	if count := len(result.Kept); count > 0 {
		log.FromContext(ctx).Info("References to a backend that goes have to stay", "references", result.Kept)
		r.warn(backend, eventReferencesKept, actionDelete, fmt.Sprintf("%s to what goes: %s", status.Plural(count, "reference"), some(result.Kept)))
	}
	if err != nil {
		return "", err
	}
	if count := len(result.Refused); count > 0 {
		return fmt.Sprintf("the references of %s cannot be removed: %s", status.Plural(count, "route"), some(result.Refused)), nil
	}
	if result.Left > 0 {
		return fmt.Sprintf("the references of %s are removed", status.Plural(result.Left, "more route")), nil
	}
	return "", nil
}

// some names the first few.
func some(names []string) string {
	named := strings.Join(names[:min(len(names), maxNamed)], "; ")
	if more := len(names) - maxNamed; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	return named
}
