// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// isReleased reports that a Kluster that is being deleted needs nothing any more, though others may still keep the object.
func isReleased(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && !k.HasDeorbiter()
}

// complete adds the finalizer to a Kluster that came another way than by Groundskeeper's API server.
func (r *reconciler) complete(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k.HasDeorbiter() || !k.DeletionTimestamp.IsZero() {
		return nil
	}
	after := k.DeepCopy()
	controllerutil.AddFinalizer(after, kubernikusv1.DeorbiterFinalizer)
	return r.patchMetadata(ctx, k, after)
}
