// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
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
	i := staleIndex(current)
	if i < 0 && !d.stale && !isMarked(current) {
		return next
	}
	seen := metav1.NewTime(now).Rfc3339Copy()
	condition := gardenerv1beta1.Condition{
		Type: gardenerv1beta1.ProjectStale, Status: gardenerv1beta1.ConditionFalse, Reason: d.reason, Message: d.message,
		LastTransitionTime: seen, LastUpdateTime: seen,
	}
	if d.stale {
		condition.Status = gardenerv1beta1.ConditionTrue
	}
	if i < 0 {
		next.Conditions = append(next.Conditions, condition)
		return next
	}
	before := &current.Conditions[i]
	if before.Status == condition.Status {
		condition.LastTransitionTime = before.LastTransitionTime
		if before.Reason == condition.Reason && before.Message == condition.Message {
			condition.LastUpdateTime = before.LastUpdateTime
		}
	}
	condition.Codes = before.Codes // belongs to other controllers
	next.Conditions[i] = condition
	return next
}

// sameStatus reports whether a decision changes nothing.
func sameStatus(current, next *gardenerv1beta1.ProjectStatus) bool {
	return equality.Semantic.DeepEqual(current, next)
}

// announce returns the event for the change of a status, or nil if there is none. It depends only on the statuses, so that each
// event is recorded once, even after restarts.
func announce(current, next *gardenerv1beta1.ProjectStatus) *announcement {
	i := staleIndex(next)
	if i < 0 {
		return nil
	}
	after, before := &next.Conditions[i], &gardenerv1beta1.Condition{}
	if i := staleIndex(current); i >= 0 {
		before = &current.Conditions[i]
	}
	switch {
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

func staleIndex(status *gardenerv1beta1.ProjectStatus) int {
	return slices.IndexFunc(status.Conditions, func(c gardenerv1beta1.Condition) bool { return c.Type == gardenerv1beta1.ProjectStale })
}
