// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// restore puts the references back into one route, in the state in which it was read.
func (r *References) restore(
	ctx context.Context, known *knowledge, route *route, backend string, exists func(name) bool, preview bool,
) Restoration {
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

// remove takes the references out of one route, in the state in which it was read.
func (p *pass) remove(ctx context.Context, route *route) error {
	backends, err := p.backendsFor(ctx, p.known, route)
	if err != nil {
		return err
	}
	removed, err := route.kind.Remove(route.object, p.removal, backends)
	p.mu.Lock()
	for _, reference := range removed.Kept {
		p.result.Kept = append(p.result.Kept, fmt.Sprintf("%s: %s", route, reference))
	}
	full := p.writes >= maxRoutes
	switch {
	case removed.Changed && full:
		p.result.Left++
	case removed.Changed:
		p.writes++
	}
	p.mu.Unlock()
	if err == nil && (!removed.Changed || full) {
		return nil
	}
	if err == nil {
		err = p.write(ctx, route)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.result.Removed = append(p.result.Removed, route.String())
		switch {
		case removed.Unrecorded:
			p.result.Unrecorded = append(p.result.Unrecorded, route.String())
		case drain.HasRemoved(route.object, p.removal.Backend):
			p.result.Recorded = append(p.result.Recorded, route.String())
		}
	case apierrors.IsNotFound(err):
	case apierrors.IsConflict(err):
		p.result.Left++
	case kit.IsUnavailable(err):
		return err
	default:
		p.result.Rejected = append(p.result.Rejected, err.Error())
	}
	return nil
}

// write updates a route, and then returns the ownership of the changed fields to their former managers in a second write. If the process
// exits in between, or the second write conflicts with another client, package maintenance performs it.
func (r *References) write(ctx context.Context, route *route) error {
	routes := r.Routes.Resource(route.resource).Namespace(route.object.GetNamespace())
	options := metav1.UpdateOptions{FieldManager: drain.Manager}
	updated, err := routes.Update(ctx, route.object, options)
	if err != nil {
		return fmt.Errorf("update %s: %w", route, err)
	}
	changed, err := drain.HandBack(updated)
	if err != nil || !changed {
		return err
	}
	if _, err := routes.Update(ctx, updated, options); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("hand back fields of %s: %w", route, err)
	}
	return nil
}
