// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// release deletes or releases the namespace of a Project that is being deleted, then deletes its roles, and finally removes the
// finalizer. It decides only on data from the API server: a cache may be stale, and a deletion cannot be reverted.
func (p *pass) release(ctx context.Context) (reconcile.Result, error) {
	namespace, err := getNamespace(ctx, p.live, client.ObjectKey{Name: namespaceName(p.project)})
	if err != nil {
		return p.failed(gardenerv1beta1.ProjectDeletable, reasonContentsUnknown, err)
	}
	var occupants []string
	if isClaimedBy(p.project, namespace) {
		if occupants, err = p.occupants(ctx, namespace.Name); err != nil {
			return p.failed(gardenerv1beta1.ProjectDeletable, reasonContentsUnknown, err)
		}
	}
	switch decideRelease(p.project, namespace, occupants) {
	case releaseDone:
		return p.letGo(ctx)
	case releaseDisown:
		_, err = p.patch(ctx, namespace, disownedNamespace(p.project, namespace))
	case releaseKeep:
		// Afterwards only the status proves that bindings without annotation are the Project's.
		if _, err = p.revokeOthers(ctx, namespace, nil); err == nil {
			_, err = p.patch(ctx, namespace, releasedNamespace(namespace))
		}
	case releaseBlocked:
		p.reportOccupied(namespace.Name, occupants)
		return reconcile.Result{RequeueAfter: waitPeriod}, nil
	case releaseWait:
		p.reportTerminating(namespace)
		return reconcile.Result{RequeueAfter: waitPeriod}, nil
	case releaseDelete:
		if err = p.remove(ctx, namespace); err == nil {
			log.FromContext(ctx).Info("Deleted the namespace of a project", "projectNamespace", namespace.Name)
			p.emit(p.project, eventMarkedForDeletion, actionDelete, fmt.Sprintf("marked namespace %q for deletion", namespace.Name))
			p.reportTerminating(namespace)
			return reconcile.Result{RequeueAfter: waitPeriod}, nil
		}
	}
	if err != nil {
		return p.failed(gardenerv1beta1.ProjectDeletable, reasonNamespaceDeletionFailed, err)
	}
	log.FromContext(ctx).Info("Released the namespace of a project", "projectNamespace", namespace.Name)
	return p.letGo(ctx)
}

// occupants lists the objects that block the deletion of the namespace. It queries the API server only if the cache has none.
func (p *pass) occupants(ctx context.Context, namespace string) ([]string, error) {
	occupants, err := p.contents.cached(namespace)
	if err != nil || len(occupants) > 0 {
		return occupants, err
	}
	return p.contents.current(ctx, namespace)
}

// letGo deletes the roles of the Project and removes the finalizer. While the Project has other finalizers it waits: the
// members retain their roles until the Project is deleted, and no other controller would delete the roles afterwards.
func (p *pass) letGo(ctx context.Context) (reconcile.Result, error) {
	if p.rolesErr != nil {
		// No controller would revoke the roles of former members afterwards.
		return p.failed(gardenerv1beta1.ProjectRBACReady, reasonRolesFailed, p.rolesErr)
	}
	if others := otherFinalizers(p.project); len(others) > 0 {
		p.reportFinalizers(others)
		return reconcile.Result{RequeueAfter: waitPeriod}, nil
	}
	if err := p.removeOwned(ctx); err != nil {
		return p.failed(gardenerv1beta1.ProjectDeletable, reasonRolesFailed, err)
	}
	next := p.project.DeepCopy()
	controllerutil.RemoveFinalizer(next, gardenerv1beta1.FinalizerName)
	if _, err := p.patch(ctx, p.project, next); err != nil {
		return p.failed(gardenerv1beta1.ProjectDeletable, reasonNamespaceDeletionFailed, err)
	}
	p.outcome = outcomeReleased
	return reconcile.Result{}, nil
}

// otherFinalizers returns the finalizers of a Project that belong to other controllers.
func otherFinalizers(project *gardenerv1beta1.Project) []string {
	return slices.DeleteFunc(slices.Clone(project.Finalizers), func(name string) bool { return name == gardenerv1beta1.FinalizerName })
}

func (p *pass) reportFinalizers(others []string) {
	p.report.phase, p.outcome = gardenerv1beta1.ProjectTerminating, outcomeWaiting
	p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionTrue, reasonWaitingForFinalizers,
		fmt.Sprintf("the project is deleted when the controllers of its other finalizers have removed them: %s", strings.Join(others, ", ")))
}

func (p *pass) reportOccupied(namespace string, occupants []string) {
	p.report.phase, p.outcome, p.problem = gardenerv1beta1.ProjectTerminating, outcomeBlocked, occupiedMessage(namespace, occupants)
	p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionFalse, reasonNamespaceNotEmpty, p.problem)
}

func (p *pass) reportTerminating(namespace *corev1.Namespace) {
	p.report.phase, p.outcome = gardenerv1beta1.ProjectTerminating, outcomeWaiting
	p.report.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, reasonNamespaceTerminating, terminatingMessage(namespace))
	p.report.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionFalse, reasonNamespaceTerminating,
		fmt.Sprintf("namespace %q is being deleted, and the bindings of the members in it with it", namespace.Name))
	if isHeld(namespace) {
		p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionFalse, reasonNamespaceHeld, heldMessage(namespace))
		return
	}
	p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionTrue, reasonNamespaceEmpty, emptyMessage(namespace.Name))
}

// isHeld reports whether Kubernetes cannot delete a namespace without the help of others: objects in it have finalizers, or it cannot
// list or delete all of them.
func isHeld(namespace *corev1.Namespace) bool {
	return slices.ContainsFunc(namespace.Status.Conditions, func(condition corev1.NamespaceCondition) bool {
		switch condition.Type {
		case corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionContentFailure:
			return condition.Status == corev1.ConditionTrue
		default:
			return false
		}
	})
}

// heldMessage states what holds a namespace, and the remedy. Members have no permissions in it any more.
func heldMessage(namespace *corev1.Namespace) string {
	return terminatingMessage(namespace) + "; the members have no access to the namespace any more: the controllers of these objects, or an " +
		"administrator, have to remove what holds them"
}
