// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterid decides whether two objects lead to the same cluster, or to the same project of an OpenStack cloud. Two Klusters,
// or a Kluster and a DiscoveryBackend, can: a copied Secret is sufficient. Only identities that a cluster reported itself prove
// anything. A name, an address or a fingerprint of credentials does not, because one cluster has several of each.
package clusterid

import gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"

// Objects of a Kubernetes cluster whose uids identify it: they exist in every cluster, and only a new cluster has new ones.
const (
	// NamespaceSystem is the object whose uid identifies a cluster reliably: it cannot be deleted.
	NamespaceSystem = "Namespace kube-system"
	// ServiceKubernetes is an object whose uid changes if a user deletes it; its reading requires fewer permissions.
	ServiceKubernetes = "Service default/kubernetes"
)

// Verdict is the result of a comparison. The zero value is Unknown, which is never Different.
type Verdict int

// The results of a comparison.
const (
	// Unknown means that the two may be the same or not.
	Unknown Verdict = iota
	// Same means that both lead to one cluster.
	Same
	// Different means that they lead to two clusters.
	Different
)

// Compare compares what two clusters reported of themselves. One equal characteristic proves that they are the same. The uid of the
// Service default/kubernetes alone proves no difference, because it changes when the Service is recreated.
func Compare(a, b []gimbalv1.ClusterIdentity) Verdict {
	verdict := Unknown
	for _, one := range a {
		for _, other := range b {
			switch {
			case one.ID == "" || other.ID == "" || one.Object != other.Object:
			case one.ID == other.ID:
				return Same
			case one.Object != ServiceKubernetes:
				verdict = Different
			}
		}
	}
	return verdict
}

// OfUID returns the identity of the cluster whose namespace kube-system has the uid, nil for an empty uid: nothing is known.
func OfUID(uid string) []gimbalv1.ClusterIdentity {
	if uid == "" {
		return nil
	}
	return []gimbalv1.ClusterIdentity{{Object: NamespaceSystem, ID: uid}}
}

// OfBackend returns the uid of the namespace kube-system of the cluster that a backend copied; "" while unknown.
func OfBackend(b *gimbalv1.DiscoveryBackend) string {
	for _, characteristic := range b.Status.Identity {
		if characteristic.Object == NamespaceSystem {
			return characteristic.ID
		}
	}
	return ""
}
