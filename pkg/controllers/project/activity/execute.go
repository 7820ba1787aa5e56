// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// write records the time of an activity.
func (r *reconciler) write(ctx context.Context, project *gardenerv1beta1.Project, at time.Time) error {
	// The uid rejects a recreated Project with the same name.
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"lastActivityTimestamp":%q}}`, project.UID, at.UTC().Format(time.RFC3339))
	object := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: project.Name}}
	err := r.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it has been deleted
	}
	if err != nil {
		return fmt.Errorf("write the last activity of project %q: %w", project.Name, err)
	}
	log.FromContext(ctx).V(1).Info("Recorded activity in a project", "project", project.Name, "at", at)
	return nil
}
