// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	applyv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// projectPaused is the condition of a paused Project. It only exists while the Project is paused.
const projectPaused gardenerv1beta1.ConditionType = "Paused"

// Reasons of the events of a Project, from Gardener.
const (
	// eventReconciled: the namespace, the roles or the quota were reconciled.
	eventReconciled = "NamespaceReconcileSuccessful"
	// eventReconcileFailed: that failed, or the namespace is unavailable.
	eventReconcileFailed = "NamespaceReconcileFailed"
	// eventNotEmpty: the Project is being deleted, but its namespace is in use.
	eventNotEmpty = "NamespaceNotEmpty"
	// eventDeletionFailed: the namespace could not be released.
	eventDeletionFailed = "NamespaceDeletionFailed"
	// eventMarkedForDeletion: the namespace is being deleted.
	eventMarkedForDeletion = "NamespaceMarkedForDeletion"
)

// Actions of the events.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
)

// Reasons of the condition NamespaceReady.
const (
	reasonNamespaceCreated     = "NamespaceCreated"
	reasonNamespaceAdopted     = "NamespaceAdopted"
	reasonNamespaceNotAllowed  = "NamespaceNotAllowed"
	reasonNamespaceNotLabelled = "NamespaceNotLabelled"
	reasonNamespaceInUse       = "NamespaceInUse"
	reasonNamespaceTerminating = "NamespaceTerminating"
	reasonNamespaceFailed      = "NamespaceFailed"
	reasonQuotaFailed          = "QuotaFailed"
)

// Reasons of the condition RBACReady.
const (
	reasonRolesReconciled  = "RolesReconciled"
	reasonRolesFailed      = "RolesFailed"
	reasonNamespaceMissing = "NamespaceMissing"
	// The API servers do not decide about Projects as the configuration of the controller manager expects.
	reasonAuthorizationDiffers = "AuthorizationDiffers"
)

// Reasons of the condition Deletable.
const (
	reasonNamespaceEmpty          = "NamespaceEmpty"
	reasonNamespaceNotEmpty       = "NamespaceNotEmpty"
	reasonNamespaceNotOwned       = "NamespaceNotOwned"
	reasonContentsUnknown         = "ContentsUnknown"
	reasonNamespaceDeletionFailed = "NamespaceDeletionFailed"
	reasonWaitingForFinalizers    = "WaitingForFinalizers"
	reasonNamespaceHeld           = "NamespaceHeld"
)

// reasonPausedByAnnotation is the reason of the condition Paused.
const reasonPausedByAnnotation = "PausedByAnnotation"

// maxMessage limits the message of a condition, in bytes. Events have the same limit, from the API server.
const maxMessage = 1000

// conditionTypes returns the conditions that this controller writes, in this order. Stale belongs to another controller.
func conditionTypes() []gardenerv1beta1.ConditionType {
	return []gardenerv1beta1.ConditionType{
		gardenerv1beta1.ProjectNamespaceReady,
		gardenerv1beta1.ProjectRBACReady,
		gardenerv1beta1.ProjectDeletable,
		projectPaused,
	}
}

// publish writes a report into the status if it changes anything, and records an event.
func (x *execution) publish(ctx context.Context, rep *report) error {
	before := &x.project.Status
	next := nextStatus(before, x.project.Generation, rep, x.now())
	changed := !sameStatus(before, &next)
	x.announce(ctx, rep, next.Phase, changed)
	if !changed {
		return nil
	}
	applied, err := x.applyStatus(ctx, &next)
	if applied && next.Phase == gardenerv1beta1.ProjectReady && (before.Phase == "" || before.Phase == gardenerv1beta1.ProjectPending) {
		x.timeToReady.Observe(x.now().Sub(x.project.CreationTimestamp.Time).Seconds())
	}
	return err
}

// announce logs and records an event, once for each change.
func (x *execution) announce(ctx context.Context, rep *report, phase gardenerv1beta1.ProjectPhase, changed bool) {
	logger := log.FromContext(ctx).WithValues("phase", phase, "outcome", rep.outcome)
	if wrote := x.wrote.Load(); rep.outcome == outcomeReady && (wrote > 0 || x.project.Status.Phase != gardenerv1beta1.ProjectReady) {
		logger.Info("Project is ready", "projectNamespace", namespaceName(x.project), "wrote", wrote)
		x.event(corev1.EventTypeNormal, eventReconciled, actionReconcile,
			fmt.Sprintf("namespace %q and the roles of the project are reconciled", namespaceName(x.project)))
	}
	if !changed {
		return
	}
	switch rep.outcome {
	case outcomeFailed, outcomeRefused, outcomeBlocked:
		reason, action := eventReconcileFailed, actionReconcile
		if !x.project.DeletionTimestamp.IsZero() {
			reason, action = eventDeletionFailed, actionDelete
		}
		if rep.outcome == outcomeBlocked {
			reason = eventNotEmpty
		}
		logger.Info("Project needs attention", "reason", reason, "problem", rep.problem)
		x.event(corev1.EventTypeWarning, reason, action, rep.problem)
	case outcomeWaiting, outcomePaused:
		logger.Info("Project is waiting")
	}
}

// announceDeletion logs and records that the namespace of the Project is being deleted.
func (x *execution) announceDeletion(ctx context.Context, namespace string) {
	log.FromContext(ctx).Info("Deleted the namespace of a project", "projectNamespace", namespace)
	x.event(corev1.EventTypeNormal, eventMarkedForDeletion, actionDelete, fmt.Sprintf("marked namespace %q for deletion", namespace))
}

func (x *execution) event(kind, reason, action, message string) {
	x.recorder.Eventf(x.project, nil, kind, reason, action, "%s", bounded(message))
}

// nextStatus returns the part of a status that this controller writes, with a report applied. Timestamps change only with their
// subject, so that an unchanged report returns the existing status.
func nextStatus(current *gardenerv1beta1.ProjectStatus, generation int64, report *report, now time.Time) gardenerv1beta1.ProjectStatus {
	next := gardenerv1beta1.ProjectStatus{ObservedGeneration: current.ObservedGeneration, Phase: current.Phase}
	if report.acted {
		next.ObservedGeneration = generation
	}
	if report.phase != "" {
		next.Phase = report.phase
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	for _, kind := range conditionTypes() {
		before, reported := conditions.Find(current.Conditions, kind), conditions.Find(report.conditions, kind)
		switch {
		case reported != nil:
			c := *reported
			c.LastTransitionTime, c.LastUpdateTime = at, at
			next.Conditions = append(next.Conditions, conditions.Following(before, c))
		case before != nil && kind != projectPaused:
			next.Conditions = append(next.Conditions, *before)
		}
	}
	return next
}

// sameStatus reports whether a status already contains the part that this controller would write.
func sameStatus(current, next *gardenerv1beta1.ProjectStatus) bool {
	if current.Phase != next.Phase || current.ObservedGeneration != next.ObservedGeneration {
		return false
	}
	for _, kind := range conditionTypes() {
		if !equality.Semantic.DeepEqual(conditions.Find(current.Conditions, kind), conditions.Find(next.Conditions, kind)) {
			return false
		}
	}
	return true
}

// statusApplied returns the patch of a status. The list of conditions is merged by type, so that conditions and timestamps of
// other controllers are not changed. With the uid, a Project of the same name that came meanwhile is not touched.
func statusApplied(project *gardenerv1beta1.Project, status *gardenerv1beta1.ProjectStatus) *applyv1beta1.ProjectApplyConfiguration {
	applied := applyv1beta1.ProjectStatus().WithPhase(status.Phase).WithObservedGeneration(status.ObservedGeneration)
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		applied.WithConditions(applyv1beta1.Condition().
			WithType(condition.Type).
			WithStatus(condition.Status).
			WithReason(condition.Reason).
			WithMessage(condition.Message).
			WithLastTransitionTime(condition.LastTransitionTime).
			WithLastUpdateTime(condition.LastUpdateTime))
	}
	return applyv1beta1.Project(project.Name).WithUID(project.UID).WithStatus(applied)
}

// bounded returns a message as conditions and events of a Project take it.
func bounded(message string) string { return kit.Bounded(message, maxMessage) }
