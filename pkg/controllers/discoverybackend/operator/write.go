// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// remove deletes the very object that was read, in the state in which it was read. One that has been deleted is fine.
func (r *reconciler) remove(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	err := r.client.Delete(ctx, object, append(options, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency)...)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", describe(object), err)
	}
	return nil
}
