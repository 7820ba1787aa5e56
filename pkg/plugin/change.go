// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change writes a change of an object as it was shown to the user. Controllers write its status at any time, so that a conflict is no reason
// to give up: the change is made again, unless somebody changed what the user decided by, or the object is another one by now.
func change[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, object P, edit func()) error {
	shown := object.DeepCopyObject().(client.Object)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before := object.DeepCopyObject().(client.Object)
		edit()
		failed := c.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(failed) {
			return failed
		}
		var now T // a new one: decoded into the former one, a map would keep keys that were removed
		if err := c.Get(ctx, client.ObjectKeyFromObject(shown), P(&now)); err != nil {
			return err
		}
		*object = now
		if object.GetUID() != shown.GetUID() || object.GetGeneration() != shown.GetGeneration() ||
			!object.GetDeletionTimestamp().Equal(shown.GetDeletionTimestamp()) || !maps.Equal(object.GetAnnotations(), shown.GetAnnotations()) ||
			!maps.Equal(object.GetLabels(), shown.GetLabels()) || !equality.Semantic.DeepEqual(object.GetFinalizers(), shown.GetFinalizers()) {
			return fmt.Errorf("%s was modified meanwhile, and nothing was changed: run the command again", nameOf(object))
		}
		return failed
	})
}
