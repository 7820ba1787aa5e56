// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// reasonUnidentified means that the API server responds, and does not report which cluster it is.
const reasonUnidentified = "Unidentified"

// identityOf returns which cluster the Secret of a Kluster leads to, by the last check, nil when there was none yet. What was learnt over
// the same connection stays while the cluster does not respond. A Secret that leads to another API server has to prove it again.
func identityOf(k *kubernikusv1.Kluster, secret *corev1.Secret, seen *workloadView) *kubernikusv1.KlusterIdentity {
	next := &kubernikusv1.KlusterIdentity{}
	if secret != nil {
		if config, err := kluster.Workload(k, secret.Data); err == nil {
			next.Server, next.Connection = kluster.ConnectionOf(config)
		}
	}
	if next.Connection == "" && k.ClusterID() != "" {
		return k.Status.Identity // nothing leads anywhere else
	}
	if next.Connection != "" && seen != nil {
		next.ClusterID = seen.clusterID
	}
	next.ClusterID = cmp.Or(next.ClusterID, kluster.ProvenID(k, next.Connection))
	switch {
	case next.ClusterID != "":
	case seen == nil:
		next.Reason = kluster.ReasonPending
	default:
		next.Reason = cmp.Or(seen.reason, reasonUnidentified)
	}
	return next
}
