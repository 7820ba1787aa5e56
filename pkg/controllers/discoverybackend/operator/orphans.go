// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// Why copies are deleted, as a label of the metric.
const (
	whyReleased = "released"
	whyOrphaned = "orphaned"
)

// orphans returns the objects that name a backend which does not exist: those with Groundskeeper's mark, and the others.
func orphans(objects []metav1.PartialObjectMetadata, exists map[string]bool) (marked, unmarked []*metav1.PartialObjectMetadata) {
	for i := range objects {
		object := &objects[i]
		switch {
		case exists[backendOf(object)] || !object.DeletionTimestamp.IsZero():
		case isMarked(object):
			marked = append(marked, object)
		default:
			unmarked = append(unmarked, object)
		}
	}
	return marked, unmarked
}

// sweep reports the Services and EndpointSlices of backends that do not exist, and deletes those with the label of the discoverer. If a
// list fails, its objects are retained until the next start. If there is no backend at all, everything is retained, because the API
// server may have lost its store.
func (r *reconciler) sweep(ctx context.Context) {
	logger := log.FromContext(ctx).WithValues("controller", ControllerName)
	deleted, err := r.removeOrphans(log.IntoContext(ctx, logger))
	if deleted > 0 {
		logger.Info("Deleted copies of backends that do not exist", "deleted", deleted)
	}
	if err != nil && ctx.Err() == nil {
		logger.Error(err, "Copies of backends that do not exist could not all be found or deleted; the next start tries again")
	}
}

func (r *reconciler) removeOrphans(ctx context.Context) (deleted int, err error) {
	var objects []metav1.PartialObjectMetadata
	for _, kind := range copyKinds() {
		found, err := listCopies(ctx, r.live, kind, "", metav1.NamespaceAll)
		if err != nil {
			return 0, err
		}
		objects = append(objects, found...)
	}
	// The backends come after the copies: one that was created meanwhile, with its first copies, is in the list.
	exists, err := r.listBackends(ctx)
	if err != nil {
		return 0, err
	}
	marked, unmarked := orphans(objects, exists)
	r.meters.orphans.WithLabelValues("true").Set(float64(len(marked)))
	r.meters.orphans.WithLabelValues("false").Set(float64(len(unmarked)))
	for _, object := range unmarked {
		r.reportOrphan(ctx, object, "it stays, because it does not carry Groundskeeper's mark: delete it, or create the backend")
	}
	if len(exists) == 0 {
		for _, object := range marked {
			r.reportOrphan(ctx, object, "it stays, because there is no backend at all: delete it, or create the backend")
		}
		return 0, nil
	}
	for _, object := range marked {
		log.FromContext(ctx).Info("A copy of a backend that does not exist is deleted", "object", describe(object), "backend", backendOf(object))
	}
	deleted, err = r.deleteCopies(ctx, marked)
	r.meters.removed.WithLabelValues(whyOrphaned).Add(float64(deleted))
	return deleted, errors.Join(err, r.withdrawOrphans(ctx, exists))
}

// withdrawOrphans removes the permissions of discoverers whose backend does not exist: a user that creates a ServiceAccount of that
// name would have them.
func (r *reconciler) withdrawOrphans(ctx context.Context, exists map[string]bool) error {
	bindings := &rbacv1.ClusterRoleBindingList{}
	if err := r.live.List(ctx, bindings, client.MatchingLabels{labelName: discovererName, labelManagedBy: operatorName}); err != nil {
		return fmt.Errorf("list the ClusterRoleBindings of discoverers: %w", err)
	}
	var errs []error
	for i := range bindings.Items {
		if binding := &bindings.Items[i]; !exists[binding.Labels[labelInstance]] {
			log.FromContext(ctx).Info("The permissions of a backend that does not exist are removed", "object", describe(binding))
			errs = append(errs, r.remove(ctx, binding))
		}
	}
	return errors.Join(errs...)
}

// listBackends returns the names of all backends, from the API server.
func (r *reconciler) listBackends(ctx context.Context) (map[string]bool, error) {
	backends := &gimbalv1.DiscoveryBackendList{}
	if err := lists.Complete(r.live).List(ctx, backends); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("DiscoveryBackends are not served: %w", err)
		}
		return nil, fmt.Errorf("list the DiscoveryBackends: %w", err)
	}
	names := map[string]bool{}
	for i := range backends.Items {
		names[backends.Items[i].Name] = true
	}
	return names, nil
}

func (r *reconciler) reportOrphan(ctx context.Context, object client.Object, why string) {
	message := fmt.Sprintf("it names DiscoveryBackend %q, which does not exist; %s", backendOf(object), why)
	log.FromContext(ctx).Info("Found a copy of a backend that does not exist", "object", describe(object), "backend", backendOf(object), "decision", why)
	r.warn(object, eventOrphaned, actionReport, message)
}
