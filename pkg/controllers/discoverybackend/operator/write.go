// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// conflictError reports that another client has an object of the name that a part needs.
type conflictError struct{ object string }

func (e conflictError) Error() string {
	return e.object + " exists and does not belong to this backend: remove or rename it"
}

// ensure brings one part to the desired state, and reports whether it wrote. It takes over nothing of anybody else.
func (r *reconciler) ensure(ctx context.Context, backend *gimbalv1.DiscoveryBackend, wanted part) (bool, error) {
	current := wanted.object
	key := client.ObjectKeyFromObject(current)
	err := r.cache.Get(ctx, key, current)
	if apierrors.IsNotFound(err) {
		// The cache may be late, and it does not have what lacks Groundskeeper's labels.
		err = r.live.Get(ctx, key, current)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, fmt.Errorf("get %s: %w", describe(current), err)
	case !isPartOf(backend, current):
		return false, conflictError{describe(current)}
	default:
		if changed, err := drifted(wanted.desired, current); err != nil || !changed {
			return false, err
		}
	}
	if err := r.client.Apply(ctx, wanted.desired, client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency); err != nil {
		return false, fmt.Errorf("apply %s: %w", describe(current), err)
	}
	return true, nil
}

// ensureAll brings the parts to the desired state, in their order. A part that fails stops the ones after it.
func (r *reconciler) ensureAll(ctx context.Context, backend *gimbalv1.DiscoveryBackend, parts []part) (wrote []string, err error) {
	for _, wanted := range parts {
		done, err := r.ensure(ctx, backend, wanted)
		if err != nil {
			return wrote, err
		}
		if done {
			wrote = append(wrote, describe(wanted.object))
		}
	}
	return wrote, nil
}

// withdraw removes the bindings of a backend that are not among those it is to have, as a reader has them.
func (r *reconciler) withdraw(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend, wanted grants) error {
	keep := map[string]bool{}
	for _, binding := range wanted.bindings {
		keep[*binding.Name] = true
	}
	for _, binding := range wanted.clusterBindings {
		keep["/"+*binding.Name] = true
	}
	bindings, clusterBindings := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
	own := client.MatchingLabels(selectorLabels(backend.Name))
	if err := from.List(ctx, bindings, own, client.InNamespace(backend.Namespace)); err != nil {
		return fmt.Errorf("list the RoleBindings of backend %s: %w", backend.Name, err)
	}
	if err := from.List(ctx, clusterBindings, own); err != nil {
		return fmt.Errorf("list the ClusterRoleBindings of backend %s: %w", backend.Name, err)
	}
	var stale []client.Object
	for i := range bindings.Items {
		if object := &bindings.Items[i]; !keep[object.Name] {
			stale = append(stale, object)
		}
	}
	for i := range clusterBindings.Items {
		if object := &clusterBindings.Items[i]; !keep["/"+object.Name] {
			stale = append(stale, object)
		}
	}
	var errs []error
	for _, object := range stale {
		if !isPartOf(backend, object) || !object.GetDeletionTimestamp().IsZero() {
			continue
		}
		err := r.remove(ctx, object)
		if err == nil {
			log.FromContext(ctx).Info("Removed permissions that the discoverer does not need", "object", describe(object))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// remove deletes the very object that was read, in the state in which it was read. One that has been deleted is fine.
func (r *reconciler) remove(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	err := r.client.Delete(ctx, object, append(options, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency)...)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", describe(object), err)
	}
	return nil
}
