// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// updateStatus fails with a conflict if the Translation is not the one that was pushed: the API server records in the status which
// resources an update removes, and that record must not be overwritten. The watch delivers the write like any other; no read waits for it.
func (r *reconciler) updateStatus(
	ctx context.Context, translation *midonetv1.Translation, status midonetv1.TranslationStatus,
) (*midonetv1.Translation, error) {
	next := translation.DeepCopy()
	next.Status = status
	if err := r.client.Status().Update(ctx, next, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("update the status of translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	return next, nil
}

// release removes Groundskeeper's finalizer from exactly the object that was pushed, and leaves other finalizers.
func (r *reconciler) release(ctx context.Context, translation *midonetv1.Translation) error {
	finalizers := slices.DeleteFunc(slices.Clone(translation.Finalizers), func(f string) bool { return f == midonetv1.FinalizerName })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": translation.UID, "resourceVersion": translation.ResourceVersion, "finalizers": finalizers,
	}})
	if err == nil {
		err = r.client.Patch(ctx, translation.DeepCopy(), client.RawPatch(types.MergePatchType, patch),
			client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	}
	if err != nil {
		return fmt.Errorf("release translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	return nil
}
