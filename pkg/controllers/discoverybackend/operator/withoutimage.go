// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// messageNoImage does not report that no discoverer runs: a user may run one manually, or a former one may continue.
const messageNoImage = "no discoverer is started or managed: set controllers.discovery.image, see docs/backend-add.md; " +
	"a discoverer that is started manually is not affected"

// watchWithoutImage adds the controller without an image. It waits for DiscoveryBackends to be served, and watches
// nothing else.
func (r *reconciler) watchWithoutImage(mgr manager.Manager) error {
	find, from, err := resourcewatch.Connect(mgr)
	if err != nil {
		return err
	}
	set := resourcewatch.NewSet(find, from, r.clock, resourcewatch.DiscoveryPeriod, backendKind())
	if err := mgr.Add(set); err != nil {
		return fmt.Errorf("add the watch of controller %s: %w", ControllerName, err)
	}
	return newBuilder(mgr).WatchesRawSource(source.Func(follow(set))).Complete(instrument.Reconciler(ControllerName, r))
}

// backendKind is DiscoveryBackends, of which only metadata is kept: a reconciliation reads the backend itself.
func backendKind() resourcewatch.Kind {
	return resourcewatch.Kind{GroupResource: gimbalv1.Resource("discoverybackends"), Versions: []string{gimbalv1.SchemeGroupVersion.Version}}
}

// follow makes a request of each event of a backend.
func follow(set *resourcewatch.Set) func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		set.Subscribe(func(e resourcewatch.Event) {
			backend := e.Object()
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: backend.Namespace, Name: backend.Name}})
		}, backendKind().GroupResource)
		return nil
	}
}

// reportNoImage reports NoImage in the status of a backend that is not being deleted, and removes the state of a former discoverer.
func (r *reconciler) reportNoImage(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (outcome, error) {
	if err := r.writeStatus(ctx, backend, findings{noImage: true}); err != nil {
		return outcomeFailed, err
	}
	return outcomeWithoutImage, nil
}
