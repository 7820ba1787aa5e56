// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// annotate changes annotations of a Node. The write fails when another client was quicker: what that one set stays.
func (r *reconciler) annotate(ctx context.Context, node *corev1.Node, d decision) error {
	changes := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, d.after, changes, client.FieldOwner(fieldOwner)); err != nil {
		return err
	}
	r.meters.annotated.Inc()
	r.announce(ctx, node, d.set)
	return nil
}
