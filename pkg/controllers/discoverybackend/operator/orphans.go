// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// sweep runs once, when this process becomes the leader. It reports the Services and EndpointSlices of backends that do not exist, and
// deletes those with the label of the discoverer. If a list fails, its objects are retained until the next start.
func (r *reconciler) sweep(ctx context.Context) error {
	logger := log.FromContext(ctx).WithValues("controller", ControllerName)
	deleted, err := r.removeOrphans(log.IntoContext(ctx, logger))
	if deleted > 0 {
		logger.Info("Deleted copies of backends that do not exist", "deleted", deleted)
	}
	if err != nil && ctx.Err() == nil {
		logger.Error(err, "Copies of backends that do not exist could not all be found or deleted; the next start tries again")
	}
	return nil
}

// removeOrphans deletes copies in the order in which they are found, if there is a backend at all: without any, the API server may have
// lost its store.
func (r *reconciler) removeOrphans(ctx context.Context) (deleted int, err error) {
	objects, err := r.copies(ctx, "", metav1.NamespaceAll)
	if err != nil {
		return 0, err
	}
	// The backends come after the copies: one that was created meanwhile, with its first copies, is in the list.
	exists, err := r.backends(ctx)
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
		log.FromContext(ctx).Info("A copy of a backend that does not exist is deleted",
			"object", describe(object), "backend", desired.BackendOf(object.GetLabels()))
	}
	deleted, err = r.deleteCopies(ctx, marked)
	r.meters.removed.WithLabelValues(whyOrphaned).Add(float64(deleted))
	return deleted, errors.Join(err, r.withdrawOrphans(ctx, exists))
}

// withdrawOrphans removes the permissions of discoverers whose backend does not exist: a user that creates a ServiceAccount of that
// name would have them.
func (r *reconciler) withdrawOrphans(ctx context.Context, exists map[string]bool) error {
	bindings, err := r.clusterBindings(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range bindings {
		if binding := &bindings[i]; !exists[binding.Labels[labelInstance]] {
			log.FromContext(ctx).Info("The permissions of a backend that does not exist are removed", "object", describe(binding))
			errs = append(errs, r.revokeOne(ctx, binding))
		}
	}
	return errors.Join(errs...)
}

func (r *reconciler) reportOrphan(ctx context.Context, object client.Object, why string) {
	message := fmt.Sprintf("it names DiscoveryBackend %q, which does not exist; %s", desired.BackendOf(object.GetLabels()), why)
	log.FromContext(ctx).Info("Found a copy of a backend that does not exist",
		"object", describe(object), "backend", desired.BackendOf(object.GetLabels()), "decision", why)
	r.warn(object, eventOrphaned, actionReport, message)
}
