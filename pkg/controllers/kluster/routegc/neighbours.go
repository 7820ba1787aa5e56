// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// byRouter finds Klusters by their router in the cache.
const byRouter = ControllerName + "/router"

// routerKeys are the keys of a Kluster in byRouter: its router, when it is known.
func routerKeys(object client.Object) []string {
	if k, ok := object.(*kubernikusv1.Kluster); ok && k.RouterID() != "" {
		return []string{k.RouterID()}
	}
	return nil
}

// neighbours are the Klusters on the router of one, itself among them, as the cache knows them: for reading only. There
// are none when the router is not known.
func (r *reconciler) neighbours(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, error) {
	if k.RouterID() == "" {
		return nil, nil
	}
	found := &kubernikusv1.KlusterList{}
	// Without the index each check of one would cost as much as there are Klusters.
	if err := r.client.List(ctx, found, client.MatchingFields{byRouter: k.RouterID()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list klusters on router %s: %w", k.RouterID(), err)
	}
	return found.Items, nil
}
