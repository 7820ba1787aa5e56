// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
)

// identityOf returns the identity of the cluster in which the controller runs, nil while it cannot be read: then no backend is known to be
// this cluster.
func identityOf(ctx context.Context, here *self.Cluster) []gimbalv1.ClusterIdentity {
	uid, err := here.UID(ctx)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Failed to read the identity of this cluster", "err", err)
	}
	return clusterid.OfUID(string(uid))
}
