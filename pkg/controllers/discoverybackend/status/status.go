// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package status has what the writers of the status of a DiscoveryBackend share. Each of them applies its own
// conditions, fields and entries of status.errors by server-side apply, finds those again by the managed fields, and
// leaves alone what the others wrote.
package status

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reach returns the namespace that a backend may publish in, and whose routes may be changed for it: all for one in an admin namespace,
// else its own.
func Reach(backend *gimbalv1.DiscoveryBackend, admins []string) string {
	if slices.Contains(admins, backend.Namespace) {
		return metav1.NamespaceAll
	}
	return backend.Namespace
}

// Reaches reports whether that includes a namespace.
func Reaches(backend *gimbalv1.DiscoveryBackend, admins []string, namespace string) bool {
	return backend.Namespace == namespace || slices.Contains(admins, backend.Namespace)
}

// MaxMessage is how many bytes a message may have.
const MaxMessage = 512

// Condition returns a condition of a backend at present. Its time is set by Conditions.
func Condition(backend *gimbalv1.DiscoveryBackend, kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: Bounded(message), ObservedGeneration: backend.Generation}
}

// Conditions gives conditions their times, and reports whether they differ from those of the backend. The time of a condition stays
// as long as its status does.
func Conditions(backend *gimbalv1.DiscoveryBackend, reported []metav1.Condition, now time.Time) (next []metav1.Condition, changed bool) {
	for _, c := range reported {
		last := meta.FindStatusCondition(backend.Status.Conditions, c.Type)
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		if last != nil && last.Status == c.Status {
			c.LastTransitionTime = last.LastTransitionTime
		}
		changed = changed || last == nil || !equality.Semantic.DeepEqual(*last, c)
		next = append(next, c)
	}
	return next, changed
}

// Errors gives entries of status.errors their times, and reports whether they differ from those that the same writer wrote before.
// The time of an entry stays as long as the entry does.
func Errors(own, reported []gimbalv1.DiscoveryError, now time.Time) (next []gimbalv1.DiscoveryError, changed bool) {
	for _, entry := range reported {
		if i := slices.IndexFunc(own, Same(entry)); i >= 0 && own[i].StatusTime != nil {
			entry.StatusTime = own[i].StatusTime
		} else {
			entry.StatusTime = &metav1.Time{Time: metav1.NewTime(now).Rfc3339Copy().Truncate(time.Second)}
			changed = true
		}
		next = append(next, entry)
	}
	return next, changed || len(own) != len(next)
}

// Same returns a function that reports whether an entry of status.errors is the same as this one except for its time.
func Same(entry gimbalv1.DiscoveryError) func(gimbalv1.DiscoveryError) bool {
	return func(other gimbalv1.DiscoveryError) bool {
		return other.Type == entry.Type && other.Message == entry.Message
	}
}

// Apply returns the patch that writes conditions and errors, to which a writer adds its other fields. With the uid, a
// backend of the same name that came meanwhile is not touched.
func Apply(
	backend *gimbalv1.DiscoveryBackend, conditions []metav1.Condition, errors []gimbalv1.DiscoveryError,
) *gimbalapply.DiscoveryBackendApplyConfiguration {
	applied := gimbalapply.DiscoveryBackendStatus()
	for _, c := range conditions {
		applied.WithConditions(metaapply.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).
			WithMessage(c.Message).WithLastTransitionTime(c.LastTransitionTime).WithObservedGeneration(c.ObservedGeneration))
	}
	for _, entry := range errors {
		applied.WithErrors(gimbalapply.DiscoveryError().WithType(entry.Type).WithMessage(entry.Message).WithStatusTime(*entry.StatusTime))
	}
	return gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithUID(backend.UID).WithStatus(applied)
}

// Bounded returns a message as the status of a backend takes it.
func Bounded(message string) string { return kit.Bounded(message, MaxMessage) }

// Plural returns a count with a noun.
func Plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
