// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// pause reports that the Project is paused. A Project that was never reconciled is Pending.
func (p *pass) pause() {
	p.outcome = outcomePaused
	if p.project.Status.Phase == "" {
		p.report.phase = gardenerv1beta1.ProjectPending
	}
	p.report.set(projectPaused, gardenerv1beta1.ConditionTrue, reasonPausedByAnnotation,
		fmt.Sprintf("the project is not reconciled until its annotation %s is removed; the roles of removed members are revoked", kit.AnnotationPaused))
}

// failed reports the condition of an error. The error itself is returned to the queue, which retries.
func (p *pass) failed(kind gardenerv1beta1.ConditionType, reason string, err error) (reconcile.Result, error) {
	status := gardenerv1beta1.ConditionFalse
	if reason == reasonContentsUnknown {
		status = gardenerv1beta1.ConditionUnknown
	}
	p.report.phase, p.outcome, p.problem = gardenerv1beta1.ProjectFailed, outcomeFailed, err.Error()
	p.report.set(kind, status, reason, err.Error())
	return reconcile.Result{}, err
}

// withoutNamespace reports why there is no namespace, and therefore no roles.
func (p *pass) withoutNamespace(decision namespaceDecision) {
	p.report.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, decision.reason, decision.message)
	p.report.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionFalse, reasonNamespaceMissing,
		"the roles are created when the project has its namespace")
}

func (p *pass) reportNamespace(namespace *corev1.Namespace, quotaErr error) {
	created := namespace.Annotations[gardenerv1beta1.AnnotationNamespaceCreatedByController] == "true"
	switch {
	case quotaErr != nil:
		p.report.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionFalse, reasonQuotaFailed, quotaErr.Error())
	case created:
		p.report.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionTrue, reasonNamespaceCreated,
			fmt.Sprintf("namespace %q was created for the project", namespace.Name))
	default:
		p.report.set(gardenerv1beta1.ProjectNamespaceReady, gardenerv1beta1.ConditionTrue, reasonNamespaceAdopted,
			fmt.Sprintf("namespace %q was adopted and is retained when the project is deleted", namespace.Name))
	}
}

func (p *pass) reportRoles(err error) {
	if err != nil {
		reason := reasonRolesFailed
		if !p.ensured && !hadBindings(p.project) {
			reason = reasonNamespaceMissing // the reason is what the status remembers
		}
		p.report.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionFalse, reason, err.Error())
		return
	}
	if difference := p.servers.difference; difference != "" {
		status := gardenerv1beta1.ConditionTrue // members have the permissions of their roles in this mode, too
		if p.byMembership {
			status = gardenerv1beta1.ConditionFalse
		}
		p.report.set(gardenerv1beta1.ProjectRBACReady, status, reasonAuthorizationDiffers, difference)
		return
	}
	p.report.set(gardenerv1beta1.ProjectRBACReady, gardenerv1beta1.ConditionTrue, reasonRolesReconciled,
		"the roles and bindings of the members are reconciled")
}

// reportDeletable reports what would block the deletion of the Project. It reveals nothing about a namespace that does not
// belong to this Project.
func (p *pass) reportDeletable(namespace *corev1.Namespace) error {
	if namespace == nil {
		p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionTrue, reasonNamespaceNotOwned,
			"the project has no namespace that would block its deletion")
		return nil
	}
	occupants, err := p.contents.cached(namespace.Name)
	if err != nil {
		return err
	}
	if len(occupants) > 0 {
		p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionFalse, reasonNamespaceNotEmpty, occupiedMessage(namespace.Name, occupants))
		return nil
	}
	p.report.set(gardenerv1beta1.ProjectDeletable, gardenerv1beta1.ConditionTrue, reasonNamespaceEmpty, emptyMessage(namespace.Name))
	return nil
}

func emptyMessage(namespace string) string {
	return fmt.Sprintf("nothing in namespace %q blocks the deletion of the project", namespace)
}

// writeStatus writes the report if it has changed, and records an event.
func (p *pass) writeStatus(ctx context.Context) error {
	before := &p.project.Status
	next := nextStatus(before, p.project.Generation, &p.report, p.now())
	changed := !sameStatus(before, &next)
	p.announce(ctx, &next, changed)
	if !changed {
		return nil
	}
	patch := statusApplied(p.project, &next)
	err := p.client.Status().Apply(ctx, patch, client.FieldOwner(fieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it has been deleted, and another Project may have its name
	}
	if err != nil {
		return fmt.Errorf("update the status of project %q: %w", p.project.Name, err)
	}
	if next.Phase == gardenerv1beta1.ProjectReady && (before.Phase == "" || before.Phase == gardenerv1beta1.ProjectPending) {
		p.timeToReady.Observe(p.now().Sub(p.project.CreationTimestamp.Time).Seconds())
	}
	return nil
}

// announce logs and records an event, once for each change.
func (p *pass) announce(ctx context.Context, next *gardenerv1beta1.ProjectStatus, changed bool) {
	logger := log.FromContext(ctx).WithValues("phase", next.Phase, "outcome", p.outcome)
	becameReady := p.outcome == outcomeReady && p.project.Status.Phase != gardenerv1beta1.ProjectReady
	if p.outcome == outcomeReady && (p.wrote > 0 || becameReady) {
		message := fmt.Sprintf("namespace %q and the roles of the project are reconciled", namespaceName(p.project))
		logger.Info("Project is ready", "projectNamespace", namespaceName(p.project), "wrote", p.wrote)
		p.emit(p.project, eventReconciled, actionReconcile, message)
	}
	if !changed {
		return
	}
	switch p.outcome {
	case outcomeFailed, outcomeRefused, outcomeBlocked:
		reason, action := eventReconcileFailed, actionReconcile
		if !p.project.DeletionTimestamp.IsZero() {
			reason, action = eventDeletionFailed, actionDelete
		}
		if p.outcome == outcomeBlocked {
			reason = eventNotEmpty
		}
		logger.Info("Project needs attention", "reason", reason, "problem", p.problem)
		p.warn(p.project, reason, action, p.problem)
	case outcomeWaiting, outcomePaused:
		logger.Info("Project is waiting")
	}
}
