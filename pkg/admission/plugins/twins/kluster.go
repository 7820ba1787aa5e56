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

// labelKluster is the label of a DiscoveryBackend that was created for a Kluster, with the UID of that.
const labelKluster = "groundskeeper.io/kluster-uid"

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
		return needsCluster(other) && workloadSource(other) == secret && compare(k, other) != clusterid.Same
	})
	same := titles(k, twins, func(other *kubernikusv1.Kluster) bool {
		return needsCluster(other) && compare(k, other) == clusterid.Same
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

func klusterDeleted(ctx context.Context, s source, k *kubernikusv1.Kluster) []string {
	if !k.DeletionTimestamp.IsZero() || !k.HasDeorbiter() || k.Detached() {
		return nil
	}
	twins, suspects := s.klustersOf(ctx, k.ClusterID()), fields.Everything()
	server := ""
	if found := k.Status.Identity; found != nil {
		server = found.Server
	}
	if k.ClusterID() != "" {
		suspects = fields.OneTermEqualSelector(kubernikusv1.KlusterClusterField, "")
	}
	same := titles(k, twins, func(other *kubernikusv1.Kluster) bool {
		return clusterid.Stays(other) && compare(k, other) == clusterid.Same
	})
	possible := titles(k, s.klusters(ctx, metav1.NamespaceAll, suspects), func(other *kubernikusv1.Kluster) bool {
		return clusterid.Stays(other) && compare(k, other) == clusterid.Unknown && clusterid.InCommon(k, other, server) != "" &&
			!k.AcceptsUnknownIdentity(other.Namespace+"/"+other.Name)
	})
	announced := unannounced(k, twins)
	copies := titles(k, s.backendsOf(ctx, k.ClusterID()), func(b *gimbalv1.DiscoveryBackend) bool { return announced(b) && !inMaintenance(b) })
	own := ""
	unique := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique)
	if unique != nil && unique.Reason == kubernikusv1.ReasonOwnCluster {
		own = k.Name
	}
	remedy := fmt.Sprintf(". To delete Kluster %s only, set its annotation %s=true", k.Name, kubernikusv1.DetachAnnotation)
	return slices.Concat(
		warn(own, "Kluster %s leads to the cluster that Groundskeeper runs in: nothing is removed from it%s", own, remedy),
		warn(same, "Kluster %s leads to the same cluster and is not being deleted: nothing is removed from the cluster until it is%s",
			same, remedy),
		warn(possible, "Kluster %s may lead to the same cluster and is not being deleted: nothing is removed from the cluster while that is "+
			"unknown%s", possible, remedy),
		warn(copies, "DiscoveryBackend %s leads to the same cluster and is not in maintenance: nothing is removed from the cluster until it is "+
			"drained%s", copies, remedy),
	)
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
	return s.backends(ctx, fields.OneTermEqualSelector(gimbalv1.ClusterIDField, id))
}

func compare(a, b *kubernikusv1.Kluster) clusterid.Verdict {
	return clusterid.Compare(clusterid.OfUID(a.ClusterID()), clusterid.OfUID(b.ClusterID()))
}

// needsCluster reports whether a Kluster was not released.
func needsCluster(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() || k.HasDeorbiter()
}

// unannounced returns what matches the DiscoveryBackends of the cluster of a Kluster that a user created: those that were created for a
// Kluster of the cluster are withdrawn with it.
func unannounced(k *kubernikusv1.Kluster, twins []kubernikusv1.Kluster) func(*gimbalv1.DiscoveryBackend) bool {
	announcers := map[string]bool{string(k.UID): true}
	for i := range twins {
		announcers[string(twins[i].UID)] = true
	}
	return func(b *gimbalv1.DiscoveryBackend) bool {
		return clusterid.OfBackend(b) == k.ClusterID() && b.DeletionTimestamp.IsZero() && !announcers[b.Labels[labelKluster]]
	}
}

// workloadSource is where the credentials for the cluster of a Kluster are.
func workloadSource(k *kubernikusv1.Kluster) kubernikusv1.KubeconfigReference {
	if ref := k.Spec.SecretRef.Kubeconfig; ref != nil {
		return *ref
	}
	return kubernikusv1.KubeconfigReference{Name: k.SecretName()}
}
