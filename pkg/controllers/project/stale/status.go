// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// Reasons of the events on a Project.
const (
	// eventStale: the project is unused, and when it will be deleted. The reason is part of the API: users filter by it.
	eventStale = "ProjectStale"
	// eventNotStale: it is not deleted.
	eventNotStale = "ProjectNotStale"

	// actionDelete is the action of the event of a deletion.
	actionDelete = "Delete"
)

// announcement is an event to record. Its action is the stage of the project: the API server combines events with the same
// reason and action in a short time into one, with the message of the first.
type announcement struct{ kind, reason, action, message string }

// nextStatus returns a status after a decision, or the same one if it is unchanged. A project that was never stale has no
// condition Stale, which avoids a write for each project.
func nextStatus(current *gardenerv1beta1.ProjectStatus, d *decision, now time.Time) gardenerv1beta1.ProjectStatus {
	next := *current.DeepCopy()
	next.StaleSinceTimestamp, next.StaleAutoDeleteTimestamp = d.since, d.autoDelete
	before := conditions.Find(current.Conditions, gardenerv1beta1.ProjectStale)
	if before == nil && !d.stale && !isMarked(current) {
		return next
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	condition := gardenerv1beta1.Condition{
		Type: gardenerv1beta1.ProjectStale, Status: gardenerv1beta1.ConditionFalse, Reason: d.reason, Message: d.message,
		LastTransitionTime: at, LastUpdateTime: at,
	}
	if d.stale {
		condition.Status = gardenerv1beta1.ConditionTrue
	}
	condition = conditions.Following(before, condition)
	if before == nil {
		next.Conditions = append(next.Conditions, condition)
	} else {
		*conditions.Find(next.Conditions, condition.Type) = condition
	}
	return next
}

// announce returns the event for the change of a status, or nil if there is none. It depends only on the statuses, so that each
// event is recorded once, even after restarts.
func announce(current, next *gardenerv1beta1.ProjectStatus) *announcement {
	after := conditions.Find(next.Conditions, gardenerv1beta1.ProjectStale)
	before := conditions.Find(current.Conditions, gardenerv1beta1.ProjectStale)
	if before == nil {
		before = &gardenerv1beta1.Condition{}
	}
	switch {
	case after == nil:
	case after.Status == gardenerv1beta1.ConditionTrue:
		if after.Reason == before.Reason && before.Status == after.Status &&
			next.StaleAutoDeleteTimestamp.Equal(current.StaleAutoDeleteTimestamp) {
			return nil
		}
		return &announcement{corev1.EventTypeWarning, eventStale, after.Reason, after.Message}
	case isMarked(current):
		return &announcement{corev1.EventTypeNormal, eventNotStale, after.Reason, "the project is no longer stale: " + after.Message}
	}
	return nil
}

// isMarked reports whether a status has one of the timestamps of a stale project.
func isMarked(status *gardenerv1beta1.ProjectStatus) bool {
	return status.StaleSinceTimestamp != nil || status.StaleAutoDeleteTimestamp != nil
}
