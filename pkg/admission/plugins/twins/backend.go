// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/admission"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// BackendsName names the plugin of DiscoveryBackends in --disable-admission-plugins.
const BackendsName = "DiscoveryBackendTwins"

// OfBackends returns the plugin that warns of what leads, or may lead, to the cluster of a DiscoveryBackend.
func OfBackends() *Plugin[gimbalv1.DiscoveryBackend] {
	return &Plugin[gimbalv1.DiscoveryBackend]{
		Handler:  admission.NewHandler(admission.Create, admission.Update),
		resource: gimbalv1.Resource("discoverybackends"),
		spec:     func(b *gimbalv1.DiscoveryBackend) any { return b.Cluster },
		written:  backendWritten,
	}
}

// backendWritten warns of the other backends with the same Secret, of those of the same cluster, and when maintenance begins, of those of
// which it is unknown that they are not; and of the Klusters of the cluster, unless the backend was created for one of them.
func backendWritten(ctx context.Context, s source, b, old *gimbalv1.DiscoveryBackend) []string {
	all := s.backends(ctx, metav1.NamespaceAll, fields.Everything())
	others := func(sharing bool, verdict clusterid.Verdict) string {
		return titles(b, all, func(other *gimbalv1.DiscoveryBackend) bool {
			shares := other.Namespace == b.Namespace && b.Cluster.SecretName() != "" && other.Cluster.SecretName() == b.Cluster.SecretName()
			return other.Cluster.Type == b.Cluster.Type && shares == sharing &&
				(sharing || clusterid.Compare(b.Status.Identity, other.Status.Identity) == verdict && (verdict == clusterid.Same || receives(other)))
		})
	}
	secret, same, unknown := others(true, clusterid.Unknown), others(false, clusterid.Same), ""
	if inMaintenance(b) && (old == nil || !inMaintenance(old)) {
		unknown = others(false, clusterid.Unknown)
	}
	twins := s.klustersOf(ctx, clusterid.OfBackend(b))
	klusters := titles(b, twins, func(k *kubernikusv1.Kluster) bool {
		return k.ClusterID() == clusterid.OfBackend(b) && !clusterid.IsReleased(k)
	})
	if announcesOne(b, twins) {
		klusters = ""
	}
	const consequence = "in maintenance a backend of the same cluster is no alternative, and a cluster is drained when all its backends are"
	return slices.Concat(
		warn(secret, "Secret %s is also that of DiscoveryBackend %s: %s", b.Cluster.SecretName(), secret, consequence),
		warn(same, "the backend leads to the same cluster as DiscoveryBackend %s: %s", same, consequence),
		warn(unknown, "it is unknown whether the backend leads to the same cluster as DiscoveryBackend %s, because status.identity is not "+
			"reported: if it does, put both into maintenance", unknown),
		warn(klusters, "Kluster %s leads to the same cluster, which is torn down only when the backend has been deleted, or is in Maintenance "+
			"and drained", klusters),
	)
}

func inMaintenance(b *gimbalv1.DiscoveryBackend) bool {
	return b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance
}

// receives reports whether a backend is not in maintenance, and routes refer to it or have not been counted.
func receives(b *gimbalv1.DiscoveryBackend) bool {
	return !inMaintenance(b) && (b.Status.Routes == nil || b.Status.Routes.Matching > 0)
}
