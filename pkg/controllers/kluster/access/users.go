// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// UsersOf maps a Secret to the Klusters that use it, as the cache knows them.
func UsersOf(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		klusters := &kubernikusv1.KlusterList{}
		// Objects of a cache are read only here, so that they need not be copied.
		if err := cache.List(ctx, klusters, client.InNamespace(secret.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range klusters.Items {
			if k := &klusters.Items[i]; k.SecretName() == secret.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
			}
		}
		return requests
	}
}
