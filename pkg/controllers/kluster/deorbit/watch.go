// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// usersOf are the Klusters that go and use a Secret.
func (r *reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	klusters := &kubernikusv1.KlusterList{}
	// Objects of a cache are read only here, so that they need not be copied.
	if err := r.client.List(ctx, klusters, client.InNamespace(secret.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range klusters.Items {
		if k := &klusters.Items[i]; !k.DeletionTimestamp.IsZero() && k.SecretName() == secret.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
		}
	}
	return requests
}

// changed drops updates that change nothing here, such as those of the status. A resync passes.
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
