// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
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

// twins returns the Klusters that lead to a cluster, as the cache knows them: for reading only.
func (r *reconciler) twins(ctx context.Context, clusterID string) ([]kubernikusv1.Kluster, error) {
	if clusterID == "" {
		return nil, nil
	}
	found := &kubernikusv1.KlusterList{}
	// Without the index each Kluster would cost as much as there are.
	if err := r.client.List(ctx, found, client.MatchingFields{kubernikusv1.KlusterClusterField: clusterID}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list klusters of one cluster: %w", err)
	}
	return found.Items, nil
}

// twinsOf returns the names of the other Klusters that lead to the cluster of one.
func (r *reconciler) twinsOf(ctx context.Context, k *kubernikusv1.Kluster, identity *kubernikusv1.KlusterIdentity) ([]string, error) {
	if identity == nil {
		return nil, nil
	}
	all, err := r.twins(ctx, identity.ClusterID)
	var names []string
	for i := range all {
		if other := &all[i]; other.UID != k.UID && !isReleased(other) {
			names = append(names, other.Namespace+"/"+other.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

// sharedWith is the condition of a Kluster whose cluster others lead to as well.
func sharedWith(twins []string) metav1.Condition {
	return metav1.Condition{Type: kubernikusv1.ConditionClusterUnique, Status: metav1.ConditionFalse, Reason: kubernikusv1.ReasonSameCluster, Message: fmt.Sprintf(
		"Kluster %s leads to the same cluster, which is torn down only when all of its Klusters are being deleted: to remove one of them, set its annotation %s=true and delete it",
		strings.Join(twins, ", "), kubernikusv1.DetachAnnotation)}
}

// sharersOf returns the Klusters that lead to the cluster of one, if there are several: their condition depends on it. The one itself is one
// of them, because it may have been written before the cache had the others.
func (r *reconciler) sharersOf(ctx context.Context, object client.Object) []reconcile.Request {
	k, ok := object.(*kubernikusv1.Kluster)
	if !ok {
		return nil
	}
	all, err := r.twins(ctx, k.ClusterID())
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to find the Klusters of a cluster", "cluster", k.ClusterID())
	}
	var requests []reconcile.Request
	for i := range all {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all[i])})
	}
	if len(requests) == 1 && requests[0].NamespacedName == client.ObjectKeyFromObject(k) {
		return nil
	}
	return requests
}

// clusterChanged admits what changes which Klusters lead to which cluster.
func clusterChanged() predicate.Predicate {
	return predicates.Updates(func(before, after *kubernikusv1.Kluster) bool {
		return before.ClusterID() != after.ClusterID() || isReleased(before) != isReleased(after)
	})
}
