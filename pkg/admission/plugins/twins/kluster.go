// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package twins

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/admission"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// KlustersName names the plugin of Klusters in --disable-admission-plugins.
const KlustersName = "KlusterTwins"

// OfKlusters returns the plugin that warns of what leads to the cluster of a Kluster.
func OfKlusters() *Plugin[kubernikusv1.Kluster] {
	return &Plugin[kubernikusv1.Kluster]{
		Handler:  admission.NewHandler(admission.Create, admission.Update, admission.Delete),
		resource: kubernikusv1.Resource("klusters"),
		spec:     func(k *kubernikusv1.Kluster) any { return k.Spec },
		written:  klusterWritten, deleted: klusterDeleted,
	}
}

func klusterWritten(ctx context.Context, s source, k, _ *kubernikusv1.Kluster) []string {
	neighbors, twins := s.klusters(ctx, k.Namespace, fields.Everything()), s.klustersOf(ctx, k.ClusterID())
	secret := workloadSource(k)
	users := titles(k, neighbors, func(other *kubernikusv1.Kluster) bool {
		return !clusterid.IsReleased(other) && workloadSource(other) == secret && compare(k, other) != clusterid.Same
	})
	same := titles(k, twins, func(other *kubernikusv1.Kluster) bool {
		return !clusterid.IsReleased(other) && compare(k, other) == clusterid.Same
	})
	copies := titles(k, s.backendsOf(ctx, k.ClusterID()), unannounced(k, twins))
	return slices.Concat(
		warn(users, "Secret %s is also that of Kluster %s: if it leads to a cluster, that is torn down only when all of its Klusters are being "+
			"deleted", secret.Name, users),
		warn(same, "Kluster %s leads to the same cluster, which is torn down only when all of its Klusters are being deleted", same),
		warn(copies, "DiscoveryBackend %s leads to the same cluster, which is torn down only when the backend has been deleted, or is in "+
			"Maintenance and drained", copies),
	)
}

// klusterDeleted warns of what Deorbit will wait for, by what registration knows.
func klusterDeleted(ctx context.Context, s source, k *kubernikusv1.Kluster) []string {
	if !k.DeletionTimestamp.IsZero() || !k.HasDeorbiter() || k.Detached() {
		return nil
	}
	if found := k.Status.Identity; k.Spec.NoCloud && found != nil && found.Connection == "" {
		return nil // there is nothing that could be removed
	}
	own := ""
	unique := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique)
	if unique != nil && unique.Reason == kubernikusv1.ReasonOwnCluster {
		own = fmt.Sprintf("nothing is removed, because it is the cluster that Groundskeeper runs in. To remove this Kluster only, set the "+
			"annotation %s=true", kubernikusv1.DetachAnnotation)
	}
	id, klusters, backends := k.ClusterID(), fields.Everything(), fields.Everything()
	if id != "" {
		klusters = fields.OneTermEqualSelector(kubernikusv1.KlusterClusterField, "")
		backends = fields.OneTermEqualSelector(gimbalv1.ClusterIDField, "")
	}
	holders := clusterid.HoldersOf(k, clusterid.KnownOf(k),
		slices.Concat(s.klusters(ctx, metav1.NamespaceAll, klusters), s.klustersOf(ctx, id)),
		slices.Concat(s.backends(ctx, k.Namespace, backends), s.backendsOf(ctx, id)), nil)
	var found []string
	for _, why := range []string{own, holders.InUse(), holders.Unknown()} {
		found = append(found, warn(why, "the Deorbit of Kluster %s will wait: %s", k.Name, why)...)
	}
	return found
}

// klustersOf returns the Klusters that lead to a cluster, in all namespaces.
func (s source) klustersOf(ctx context.Context, id string) []kubernikusv1.Kluster {
	if id == "" {
		return nil
	}
	return s.klusters(ctx, metav1.NamespaceAll, fields.OneTermEqualSelector(kubernikusv1.KlusterClusterField, id))
}

// backendsOf returns the DiscoveryBackends that copied a cluster.
func (s source) backendsOf(ctx context.Context, id string) []gimbalv1.DiscoveryBackend {
	if id == "" {
		return nil
	}
	return s.backends(ctx, metav1.NamespaceAll, fields.OneTermEqualSelector(gimbalv1.ClusterIDField, id))
}

func compare(a, b *kubernikusv1.Kluster) clusterid.Verdict {
	return clusterid.Compare(clusterid.OfUID(a.ClusterID()), clusterid.OfUID(b.ClusterID()))
}

// unannounced returns what matches the DiscoveryBackends of the cluster of a Kluster that a user created: those that were created for a
// Kluster of the cluster are withdrawn with it.
func unannounced(k *kubernikusv1.Kluster, twins []kubernikusv1.Kluster) func(*gimbalv1.DiscoveryBackend) bool {
	return func(b *gimbalv1.DiscoveryBackend) bool {
		return clusterid.OfBackend(b) == k.ClusterID() && b.DeletionTimestamp.IsZero() && !clusterid.IsAnnouncement(k, b) &&
			!announcesOne(b, twins)
	}
}

// announcesOne reports whether a DiscoveryBackend announces one of some Klusters.
func announcesOne(b *gimbalv1.DiscoveryBackend, klusters []kubernikusv1.Kluster) bool {
	return slices.ContainsFunc(klusters, func(k kubernikusv1.Kluster) bool { return clusterid.IsAnnouncement(&k, b) })
}

// workloadSource is where the credentials for the cluster of a Kluster are.
func workloadSource(k *kubernikusv1.Kluster) kubernikusv1.KubeconfigReference {
	if ref := k.Spec.SecretRef.Kubeconfig; ref != nil {
		return *ref
	}
	return kubernikusv1.KubeconfigReference{Name: k.SecretName()}
}
