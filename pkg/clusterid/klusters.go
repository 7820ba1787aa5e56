// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid

import (
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// ReasonPending is the reason of an unknown identity before the first check of the cluster.
const ReasonPending = "Pending"

// Stays reports whether a cluster has to stay for a Kluster of it: it is not being deleted, or an annotation requests to wait.
func Stays(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() || kit.IsPaused(k) || k.TerminationProtected()
}

// InCommon returns what another Kluster has in common with one whose API server has an address, if both may lead to one cluster when the
// identity of either is unknown; "" for nothing. That credentials do not work is nothing in common: one broken Kluster would hold all
// deletions. Names and places in the cloud are not compared.
func InCommon(k, other *kubernikusv1.Kluster, server string) string {
	found := other.Status.Identity
	shared := func(name string) bool { return slices.Contains(other.SecretNames(), name) }
	switch {
	case other.Namespace == k.Namespace && slices.ContainsFunc(k.SecretNames(), shared):
		return "uses the same Secret"
	case server != "" && found != nil && found.Server == server:
		return "has the same API server"
	case other.ClusterID() == "" && (found == nil || found.Reason == ReasonPending):
		return "has not been checked yet" // it may have the same API server, and no names yet
	}
	return ""
}
