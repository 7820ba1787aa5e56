// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// writeStatus writes a status unless it is the present one, and reports whether it did. The write fails if the Project was changed
// concurrently, because the decision is about the Project that was read.
func (r *reconciler) writeStatus(
	ctx context.Context, project *gardenerv1beta1.Project, status gardenerv1beta1.ProjectStatus,
) (bool, error) {
	if equality.Semantic.DeepEqual(project.Status, status) {
		return false, nil
	}
	next := project.DeepCopy()
	status.DeepCopyInto(&next.Status)
	// A patch instead of server-side apply, which would retain timestamps of other field managers: of an import or of Gardener's
	// controller.
	changes := client.MergeFromWithOptions(project, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, next, changes, client.FieldOwner(fieldOwner)); err != nil {
		return false, fmt.Errorf("mark project %q: %w", project.Name, kit.NotFoundIsChanged(err))
	}
	return true, nil
}

// delete deletes a Project as it was read.
func (r *reconciler) delete(ctx context.Context, project *gardenerv1beta1.Project) error {
	if err := r.confirm(ctx, project, true); err != nil {
		return err
	}
	if err := r.client.Delete(ctx, project, client.Preconditions(kit.AsRead(project))); err != nil {
		return fmt.Errorf("delete stale project %q: %w", project.Name, kit.NotFoundIsChanged(err))
	}
	return nil
}

// confirm sets or removes the annotation without which the deletion of a Project is denied.
func (r *reconciler) confirm(ctx context.Context, project *gardenerv1beta1.Project, confirmed bool) error {
	if isConfirmed(project) == confirmed {
		return nil
	}
	before, does := project.DeepCopy(), "confirm the deletion of"
	if confirmed {
		metav1.SetMetaDataAnnotation(&project.ObjectMeta, gardenerv1beta1.AnnotationConfirmDeletion, "true")
	} else {
		delete(project.Annotations, gardenerv1beta1.AnnotationConfirmDeletion)
		does = "withdraw the confirmation to delete"
	}
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, project, changes, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("%s project %q: %w", does, project.Name, kit.NotFoundIsChanged(err))
	}
	return nil
}
