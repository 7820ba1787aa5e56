// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	applyv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// projectPaused is the condition of a paused Project. It only exists while the Project is paused.
const projectPaused gardenerv1beta1.ConditionType = "Paused"

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

// report is the result of a reconciliation. Conditions that it does not contain remain unchanged, except Paused.
type report struct {
	phase gardenerv1beta1.ProjectPhase
	// acted is false if the current spec was not completely reconciled, so that observedGeneration is not updated.
	acted      bool
	conditions []gardenerv1beta1.Condition
}

// set reports a condition, and replaces an earlier report of it.
func (r *report) set(kind gardenerv1beta1.ConditionType, status gardenerv1beta1.ConditionStatus, reason, message string) {
	reported := gardenerv1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: bounded(message)}
	if before := condition(r.conditions, kind); before != nil {
		*before = reported
		return
	}
	r.conditions = append(r.conditions, reported)
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
	for _, kind := range conditionTypes() {
		before, reported := condition(current.Conditions, kind), condition(report.conditions, kind)
		switch {
		case reported != nil:
			next.Conditions = append(next.Conditions, nextCondition(before, *reported, now))
		case before != nil && kind != projectPaused:
			next.Conditions = append(next.Conditions, *before)
		}
	}
	return next
}

// nextCondition returns a reported condition with its timestamps.
func nextCondition(before *gardenerv1beta1.Condition, reported gardenerv1beta1.Condition, now time.Time) gardenerv1beta1.Condition {
	reported.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	reported.LastUpdateTime = reported.LastTransitionTime
	if before == nil {
		return reported
	}
	// Codes belong to other controllers. They are neither written nor removed.
	reported.Codes = before.Codes
	if before.Status != reported.Status {
		return reported
	}
	reported.LastTransitionTime = before.LastTransitionTime
	if before.Reason == reported.Reason && before.Message == reported.Message {
		reported.LastUpdateTime = before.LastUpdateTime
	}
	return reported
}

// sameStatus reports whether a status already contains the part that this controller would write.
func sameStatus(current, next *gardenerv1beta1.ProjectStatus) bool {
	if current.Phase != next.Phase || current.ObservedGeneration != next.ObservedGeneration {
		return false
	}
	for _, kind := range conditionTypes() {
		if !equality.Semantic.DeepEqual(condition(current.Conditions, kind), condition(next.Conditions, kind)) {
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

func condition(conditions []gardenerv1beta1.Condition, kind gardenerv1beta1.ConditionType) *gardenerv1beta1.Condition {
	i := slices.IndexFunc(conditions, func(c gardenerv1beta1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// bounded returns a message as conditions and events of a Project take it.
func bounded(message string) string { return kit.Bounded(message, maxMessage) }
