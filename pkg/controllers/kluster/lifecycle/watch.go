// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// CacheOptions is what the manager's cache should hold: Klusters with their managed fields, which report who else writes the
// status, and of Secrets the little that is checked.
func CacheOptions() (map[client.Object]cache.ByObject, error) {
	return map[client.Object]cache.ByObject{
		&kubernikusv1.Kluster{}:  {Transform: keepOwners},
		kluster.SecretMetadata(): {Transform: keepHolds},
	}, nil
}

// keepOwners leaves a Kluster unchanged, and drops the managed fields of what is only its metadata.
func keepOwners(object any) (any, error) {
	if _, whole := object.(*kubernikusv1.Kluster); whole {
		return object, nil
	}
	return cache.TransformStripManagedFields()(object)
}

// keepHolds drops all of a Secret's metadata but its version and what holds it.
func keepHolds(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: full.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
		Finalizers: full.Finalizers, DeletionTimestamp: full.DeletionTimestamp,
	}}, nil
}

// usersOf are the Klusters that use a Secret. For one that is held and used by none it is a request with its name, which manages
// the namespace.
func (r *reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := kluster.UsersOf(r.client, nil)(ctx, secret)
	if len(requests) == 0 && isHeld(secret) {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetName()}})
	}
	return requests
}

// changed drops updates that change nothing here, such as the controller's own of the status. A resync passes.
func changed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasKluster := e.ObjectOld.(*kubernikusv1.Kluster)
		after, isKluster := e.ObjectNew.(*kubernikusv1.Kluster)
		if !wasKluster || !isKluster {
			return false
		}
		return before.ResourceVersion == after.ResourceVersion || before.Generation != after.Generation ||
			!equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
			!equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.Status.Apiserver != after.Status.Apiserver
	}}
}
