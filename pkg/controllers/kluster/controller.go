// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/observe"
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

// Complete adds the controller of that name to the manager of its builder. An error means that it was added twice.
func Complete(b *builder.Builder, name string, r reconcile.Reconciler) error {
	if err := b.Complete(observe.Reconciler(name, r)); err != nil {
		return fmt.Errorf("make controller %s: %w", name, err)
	}
	return nil
}
