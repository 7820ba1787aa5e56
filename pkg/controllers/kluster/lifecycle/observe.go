// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

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

// othersOf returns the other objects that lead to the cluster of a Kluster.
func (r *reconciler) othersOf(ctx context.Context, k *kubernikusv1.Kluster, identity *kubernikusv1.KlusterIdentity) (sharers, error) {
	if identity == nil || identity.ClusterID == "" {
		return sharers{}, nil
	}
	all, err := r.twins(ctx, identity.ClusterID)
	if err != nil {
		return sharers{}, err
	}
	backends, err := r.backends.Find(ctx, backendKind().GroupResource, resourcewatch.Query{Index: byCluster, Value: identity.ClusterID})
	found := sharersAmong(k, all, backends)
	if found.unknown = err != nil; found.unknown {
		log.FromContext(ctx).V(1).Info("Waiting for the cache of DiscoveryBackends", "err", err)
	}
	here, err := r.here.UID(ctx)
	if found.here = identity.ClusterID == string(here); err != nil {
		log.FromContext(ctx).V(1).Info("The management cluster is not identified", "err", err)
		last := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique)
		found.here = last != nil && last.Reason == kubernikusv1.ReasonOwnCluster && k.ClusterID() == identity.ClusterID
	}
	return found, nil
}

// unusedSecrets returns the Secrets of a namespace that are held and that no Kluster uses any more: it was released, or uses another
// one. The API server has the last word on who uses what.
func (r *reconciler) unusedSecrets(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := r.client.List(ctx, secrets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the metadata of secrets in namespace %s: %w", namespace, err)
	}
	var keys []types.NamespacedName
	for _, from := range []client.Reader{r.client, lists.Complete(r.live)} {
		klusters := &kubernikusv1.KlusterList{}
		if err := from.List(ctx, klusters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list klusters in namespace %s: %w", namespace, err)
		}
		used := map[string]bool{}
		for i := range klusters.Items {
			if k := &klusters.Items[i]; !clusterid.IsReleased(k) {
				for _, name := range k.SecretNames() {
					used[name] = true
				}
			}
		}
		keys = nil
		for i := range secrets.Items {
			if secret := &secrets.Items[i]; isHeld(secret) && !used[secret.Name] {
				keys = append(keys, client.ObjectKeyFromObject(secret))
			}
		}
		if len(keys) == 0 {
			return nil, nil
		}
	}
	return keys, nil
}

func isHeld(secret client.Object) bool {
	return controllerutil.ContainsFinalizer(secret, kubernikusv1.SecretInUseFinalizer)
}
