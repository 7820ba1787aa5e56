// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// Restoration is what Restore did to one route, or would do.
type Restoration struct {
	// Route is Kind namespace/name.
	Route string
	// Elements are the parts of its spec that have their references back.
	Elements []string
	// Skipped are those that do not, and why.
	Skipped []string
	// Err is why the route could not be written.
	Err error
}

// Restore puts the references to the copied Services of a backend back that were removed with an earlier backend of the
// name, where routes still are as the removal left them. Those to a backend in maintenance come back drained. With a preview it writes nothing. An error means that not all routes
// are known.
func (r *References) Restore(ctx context.Context, backend *gimbalv1.DiscoveryBackend, preview bool) ([]Restoration, error) {
	known, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	services := known.of(backend, r.AdminNamespaces)
	var done []Restoration
	for _, kind := range drain.Kinds() {
		routes, err := r.list(ctx, kind, metav1.NamespaceAll)
		if err != nil {
			return done, err
		}
		for _, route := range routes {
			if !drain.HasRemoved(route.object, backend.Name) {
				continue
			}
			done = append(done, r.restore(ctx, known, route, backend.Name, services.Has, preview))
		}
	}
	return done, nil
}

// restore puts the references back into one route, in the state in which it was read.
func (r *References) restore(ctx context.Context, known *knowledge, route *route, backend string, exists func(name) bool, preview bool) Restoration {
	result := Restoration{Route: route.String()}
	backends, err := r.backendsFor(ctx, known, route)
	if err != nil {
		result.Err = err
		return result
	}
	if found := known.backends[backend]; found != nil && status.IsInMaintenance(found) {
		backends.drained.Insert(backend) // maintenance would drain it too, but only after it had received requests
	}
	restored, err := route.kind.Restore(route.object, backend, exists, backends)
	result.Elements, result.Skipped, result.Err = restored.Elements, restored.Skipped, err
	if err != nil || preview || len(restored.Elements) == 0 {
		return result
	}
	if result.Err = r.write(ctx, route); result.Err != nil {
		result.Elements = nil
		if apierrors.IsConflict(result.Err) {
			result.Err = fmt.Errorf("%s was changed meanwhile: run the command again", route)
		}
	}
	return result
}
