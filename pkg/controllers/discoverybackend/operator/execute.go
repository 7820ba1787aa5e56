// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// maxDeletions bounds the deletions of one reconcile, so that no worker is busy with one backend for long.
	maxDeletions = 500
	// parallelDeletions is how many are under way concurrently.
	parallelDeletions = 16
)

// patchFinalizers writes the finalizers of a backend that is still in the state in which it was read.
func (r *reconciler) patchFinalizers(ctx context.Context, before, after *gimbalv1.DiscoveryBackend) error {
	if err := r.patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update the finalizers of %s: %w", describe(before), err)
	}
	return nil
}

func (r *reconciler) patch(ctx context.Context, object client.Object, changes client.Patch) error {
	return r.client.Patch(ctx, object, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
}

// apply brings a part to the desired state.
func (r *reconciler) apply(ctx context.Context, wanted part) error {
	err := r.client.Apply(ctx, wanted.desired, client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply %s: %w", describe(wanted.object), err)
	}
	return nil
}

// applyStatus writes the status of a backend that may have been deleted meanwhile.
func (r *reconciler) applyStatus(ctx context.Context, next *gimbalapply.DiscoveryBackendApplyConfiguration) error {
	err := r.client.Status().Apply(ctx, next, client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of DiscoveryBackend %s/%s: %w", *next.Namespace, *next.Name, err)
	}
	return nil
}

// revoke removes the subjects of bindings, and deletes these. A deletion alone removes no permission while the binding has a finalizer.
func (r *reconciler) revoke(ctx context.Context, bindings []client.Object) error {
	errs := make([]error, len(bindings))
	for i, binding := range bindings {
		errs[i] = r.revokeOne(ctx, binding)
	}
	return errors.Join(errs...)
}

func (r *reconciler) revokeOne(ctx context.Context, binding client.Object) error {
	if _, subjects := boundBy(binding); len(subjects) > 0 {
		changes := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"subjects":null}`, binding.GetResourceVersion())
		err := r.patch(ctx, binding, client.RawPatch(types.MergePatchType, changes))
		switch {
		case apierrors.IsNotFound(err):
			return nil // it has been deleted
		case err != nil:
			return fmt.Errorf("remove the subjects of %s: %w", describe(binding), err)
		}
		log.FromContext(ctx).Info("Removed permissions that the discoverer does not need", "object", describe(binding))
	}
	if !binding.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return r.remove(ctx, binding)
}

// deleteCopies deletes objects in the version that was read, and returns the number of deleted ones.
func (r *reconciler) deleteCopies(ctx context.Context, plan []*metav1.PartialObjectMetadata) (deleted int, err error) {
	errs := make([]error, len(plan))
	var group errgroup.Group
	group.SetLimit(parallelDeletions)
	for i, object := range plan {
		group.Go(func() error {
			errs[i] = r.remove(ctx, object)
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if err == nil {
			deleted++
		}
	}
	return deleted, errors.Join(errs...)
}

// remove deletes the very object that was read, in the state in which it was read. One that has been deleted is fine.
func (r *reconciler) remove(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	err := r.client.Delete(ctx, object, append(options, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency)...)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", describe(object), err)
	}
	return nil
}
