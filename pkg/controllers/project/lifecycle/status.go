// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	applyv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gardener/v1beta1"
)

// projectPaused is the condition of a Project that is left alone on request. It is there only while that lasts.
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
)

// Reasons of the condition Deletable.
const (
	reasonNamespaceEmpty          = "NamespaceEmpty"
	reasonNamespaceNotEmpty       = "NamespaceNotEmpty"
	reasonNamespaceNotOwned       = "NamespaceNotOwned"
	reasonContentsUnknown         = "ContentsUnknown"
	reasonNamespaceDeletionFailed = "NamespaceDeletionFailed"
	reasonWaitingForFinalizers    = "WaitingForFinalizers"
)

// reasonPausedByAnnotation is the reason of the condition Paused.
const reasonPausedByAnnotation = "PausedByAnnotation"

// maxMessage bounds the message of a condition, in bytes. Events have the same bound, the API server's.
const maxMessage = 1000

// conditionTypes are the conditions that this controller writes, in the order in which it writes them. Stale belongs
// to another one.
func conditionTypes() []gardenerv1beta1.ConditionType {
	return []gardenerv1beta1.ConditionType{
		gardenerv1beta1.ProjectNamespaceReady,
		gardenerv1beta1.ProjectRBACReady,
		gardenerv1beta1.ProjectDeletable,
		projectPaused,
	}
}

// report is what a pass found out. What it does not mention stays as it was, but for Paused.
type report struct {
	phase gardenerv1beta1.ProjectPhase
	// acted is false when not all was done that the spec asks for now, so that observedGeneration stays.
	acted      bool
	conditions []gardenerv1beta1.Condition
}

// set reports a condition, in place of what was reported about it before.
func (r *report) set(kind gardenerv1beta1.ConditionType, status gardenerv1beta1.ConditionStatus, reason, message string) {
	reported := gardenerv1beta1.Condition{Type: kind, Status: status, Reason: reason, Message: bounded(message)}
	if before := condition(r.conditions, kind); before != nil {
		*before = reported
		return
	}
	r.conditions = append(r.conditions, reported)
}

// nextStatus is the part of a status that this controller writes, after a report. Times change only with what they
// speak of, so that a report of nothing new gives the status that is there.
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

// nextCondition gives a reported condition its times.
func nextCondition(before *gardenerv1beta1.Condition, reported gardenerv1beta1.Condition, now time.Time) gardenerv1beta1.Condition {
	reported.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	reported.LastUpdateTime = reported.LastTransitionTime
	if before == nil {
		return reported
	}
	// Codes are not ours. We neither write nor remove them.
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

// sameStatus says whether a status already holds the part that this controller would write.
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

// statusApplied is the patch that writes it. The list of conditions is merged by type, so those of others, and the
// times that others write, are not touched.
func statusApplied(project string, status *gardenerv1beta1.ProjectStatus) *applyv1beta1.ProjectApplyConfiguration {
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
	return applyv1beta1.Project(project).WithStatus(applied)
}

func condition(conditions []gardenerv1beta1.Condition, kind gardenerv1beta1.ConditionType) *gardenerv1beta1.Condition {
	i := slices.IndexFunc(conditions, func(c gardenerv1beta1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// bounded is a message on one line, and not longer than it may be.
func bounded(message string) string {
	message = strings.ReplaceAll(message, "\n", "; ")
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
}
