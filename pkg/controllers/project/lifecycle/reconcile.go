// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// waitPeriod is the interval of rechecks for which an event is expected, in case the event is missing.
const waitPeriod = 30 * time.Second

// Reconcile reconciles one Project with its spec, and records the result in its status.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o, err := r.observe(ctx, request.NamespacedName)
	if o == nil {
		return reconcile.Result{}, err
	}
	x := &execution{reconciler: r, project: o.project, servers: o.servers}
	if o.isReleased() {
		// Another finalizer may retain the Project and its roles for a long time.
		return reconcile.Result{}, x.followMembers(ctx).err
	}
	namespace := o.namespace
	if err == nil && isOwned(o.project, namespace) {
		namespace, err = x.disown(ctx, namespace)
	}
	var rep report
	switch {
	case err != nil:
		rep = failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	case kit.IsPaused(o.project):
		rep = paused(o.project)
		rep.roles = x.followMembers(ctx)
	case !o.project.DeletionTimestamp.IsZero():
		followed := x.followMembers(ctx)
		rep = x.release(ctx, followed.err)
		rep.roles = followed
	default:
		rep = x.provide(ctx, namespace)
	}
	if rep.roles.err != nil {
		rep.setRoles(x, rep.roles)
		rep.err = errors.Join(rep.err, rep.roles.err)
	}
	// Failed or paused changes of the spec have not been made.
	rep.acted = rep.err == nil && rep.outcome != outcomePaused
	if kit.IsConcurrentChange(rep.err) {
		r.outcomes.WithLabelValues(string(outcomeRetried)).Inc()
		if kit.IsTerminating(rep.err) {
			rep.err = fmt.Errorf("%w: %w", kit.ErrChanged, rep.err)
		}
		return reconcile.Result{}, rep.err
	}
	r.outcomes.WithLabelValues(string(rep.outcome)).Inc()
	if rep.outcome != outcomeReleased {
		rep.err = errors.Join(rep.err, x.publish(ctx, &rep))
	}
	return reconcile.Result{RequeueAfter: rep.retry}, rep.err
}

// provide creates and updates the objects of a Project that is not being deleted.
func (x *execution) provide(ctx context.Context, current *corev1.Namespace) report {
	namespace, isNew, rep := x.provideNamespace(ctx, current)
	if rep.outcome != "" {
		rep.roles = x.followMembers(ctx)
		return rep
	}
	within := namespace
	if isNew {
		within = nil // a new namespace has no unused binding
	}
	rolesErr := x.reconcileRoles(ctx, x.desired(), within, adoptObjects)
	quotaErr := x.ensureQuota(ctx, namespace, isNew)
	rep.setNamespace(namespace, quotaErr)
	rep.setRoles(x, roles{ensured: true, err: rolesErr})
	if err := errors.Join(rolesErr, quotaErr); err != nil {
		rep.fail(err)
		return rep
	}
	rep.phase, rep.outcome = gardenerv1beta1.ProjectReady, outcomeReady
	return rep
}

// provideNamespace creates or adopts the namespace of a Project. The report has an outcome if the Project does not get it.
func (x *execution) provideNamespace(ctx context.Context, current *corev1.Namespace) (_ *corev1.Namespace, isNew bool, rep report) {
	if err := x.complete(ctx); err != nil {
		return nil, false, failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	}
	namespace, decision, err := x.ensureNamespace(ctx, current)
	if err != nil {
		return nil, false, failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	}
	var occupants []string
	if namespace != nil {
		if occupants, err = x.contents.cached(namespace.Name); err != nil {
			return nil, false, failed(gardenerv1beta1.ProjectDeletable, reasonContentsUnknown, err)
		}
	}
	rep.setDeletable(namespace, occupants, nil)
	switch decision.action {
	case waitForNamespace:
		rep.phase, rep.outcome, rep.retry = gardenerv1beta1.ProjectPending, outcomeWaiting, waitPeriod
		rep.setNoNamespace(decision)
	case rejectNamespace:
		// A retry does not help: the namespace or the Project has to change, and both cause an event.
		rep.phase, rep.outcome, rep.problem = gardenerv1beta1.ProjectFailed, outcomeRefused, decision.message
		rep.setNoNamespace(decision)
	}
	return namespace, decision.action == createNamespace, rep
}

// release deletes or releases the namespace of a Project that is being deleted, then deletes its roles, and finally removes the
// finalizer. It decides only on data from the API server: a cache may be stale, and a deletion cannot be reverted.
func (x *execution) release(ctx context.Context, rolesErr error) report {
	o, err := x.observeRelease(ctx)
	if err != nil {
		return failed(gardenerv1beta1.ProjectDeletable, reasonContentsUnknown, err)
	}
	namespace := o.namespace
	switch decideRelease(x.project, namespace, o.occupants, o.held) {
	case releaseDone:
		return x.letGo(ctx, rolesErr)
	case releaseBlocked:
		return blocked(namespace, occupiedMessage(namespace.Name, o.occupants))
	case releaseHeld:
		return blocked(namespace, heldMessage(namespace.Name, o.holding))
	case releaseWait:
		return terminating(x.project, namespace, nil)
	case releaseDelete:
		if err = x.remove(ctx, namespace); err == nil {
			x.announceDeletion(ctx, namespace.Name)
			return terminating(x.project, namespace, o.unseen)
		}
	case releaseDisown:
		_, err = x.disown(ctx, namespace)
	case releaseKeep:
		err = x.keep(ctx, namespace)
	}
	if err != nil {
		return failed(gardenerv1beta1.ProjectDeletable, reasonNamespaceDeletionFailed, err)
	}
	log.FromContext(ctx).Info("Released the namespace of a project", "projectNamespace", namespace.Name)
	return x.letGo(ctx, rolesErr)
}

// letGo deletes the roles of the Project and removes the finalizer. While the Project has other finalizers it waits: the
// members retain their roles until the Project is deleted, and no other controller would delete the roles afterwards.
func (x *execution) letGo(ctx context.Context, rolesErr error) report {
	if rolesErr != nil {
		// No controller would revoke the roles of former members afterwards.
		return failed(gardenerv1beta1.ProjectRBACReady, reasonRolesFailed, rolesErr)
	}
	if others := otherFinalizers(x.project); len(others) > 0 {
		return waitingFor(others)
	}
	if err := x.removeOwned(ctx); err != nil {
		return failed(gardenerv1beta1.ProjectDeletable, reasonRolesFailed, err)
	}
	if err := x.removeFinalizer(ctx); err != nil {
		return failed(gardenerv1beta1.ProjectDeletable, reasonNamespaceDeletionFailed, err)
	}
	return report{outcome: outcomeReleased}
}
