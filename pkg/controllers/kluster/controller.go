// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Builder begins a controller of Klusters: of those whose changes count, and of those that a Secret concerns when it
// changes. What else it watches is for the caller to add, who calls Complete then.
func Builder(
	mgr manager.Manager, name string, config configv1alpha1.KlusterConfiguration, changed predicate.Predicate, concerned handler.MapFunc,
) *builder.Builder {
	return builder.ControllerManagedBy(mgr).
		Named(name).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: int(*config.ConcurrentSyncs),
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
		}).
		For(&kubernikusv1.Kluster{}, builder.WithPredicates(changed)).
		Watches(SecretMetadata(), handler.EnqueueRequestsFromMapFunc(concerned), builder.OnlyMetadata)
}

// Changed drops updates of Klusters that only write what their controllers report, such as conditions.
func Changed() predicate.Predicate {
	return predicates.Changed(func(before, after *kubernikusv1.Kluster) bool {
		return before.Generation != after.Generation ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Status.Apiserver != after.Status.Apiserver
	})
}

// Complete adds the controller of that name to the manager of its builder. An error means that it was added twice.
func Complete(b *builder.Builder, name string, r reconcile.Reconciler) error {
	if err := b.Complete(instrument.Reconciler(name, r)); err != nil {
		return fmt.Errorf("make controller %s: %w", name, err)
	}
	return nil
}

// bySecret finds Klusters in the cache by the name of the Secret they use.
const bySecret = "kluster/secret"

// Index makes a cache find Klusters by their Secret and by their cluster, which their controllers need: it is called once, before
// the first of them is added.
func Index(indexer client.FieldIndexer) error {
	// The context would end a wait for the cache, but before the start of the manager there is none.
	if err := indexer.IndexField(context.Background(), &kubernikusv1.Kluster{}, bySecret, secretKeys); err != nil {
		return fmt.Errorf("index klusters by their secret: %w", err)
	}
	if err := indexer.IndexField(context.Background(), &kubernikusv1.Kluster{}, kubernikusv1.KlusterClusterField, clusterKeys); err != nil {
		return fmt.Errorf("index klusters by their cluster: %w", err)
	}
	return nil
}

// clusterKeys returns the key of a Kluster in the index by cluster, which has the name of the field that the API server selects by.
func clusterKeys(object client.Object) []string {
	if k, ok := object.(*kubernikusv1.Kluster); ok {
		return []string{k.ClusterID()}
	}
	return nil
}

func secretKeys(object client.Object) []string {
	if k, ok := object.(*kubernikusv1.Kluster); ok {
		return k.SecretNames()
	}
	return nil
}

// UsersOf maps a Secret to the Klusters that use it and are concerned, as an indexed cache knows them; nil as concerned
// is all of them.
func UsersOf(cache client.Reader, concerned func(*kubernikusv1.Kluster) bool) handler.MapFunc {
	return func(ctx context.Context, secret client.Object) []reconcile.Request {
		users := &kubernikusv1.KlusterList{}
		// Without the index each Secret would cost as much as there are Klusters. Objects of a cache are read only here, so
		// that they need not be copied.
		err := cache.List(ctx, users, client.InNamespace(secret.GetNamespace()), client.MatchingFields{bySecret: secret.GetName()},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			log.FromContext(ctx).Error(err, "Could not find the Klusters of a Secret", "secret", client.ObjectKeyFromObject(secret))
			return nil
		}
		return Requests(users.Items, concerned)
	}
}

// Requests returns requests for the Klusters that are concerned; nil as concerned is all of them.
func Requests(klusters []kubernikusv1.Kluster, concerned func(*kubernikusv1.Kluster) bool) (requests []reconcile.Request) {
	for i := range klusters {
		if k := &klusters[i]; concerned == nil || concerned(k) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
		}
	}
	return requests
}
