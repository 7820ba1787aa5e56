// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	kubernikusapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Conditions gives conditions of a Kluster their time and generation, and reports whether they differ from those that are there.
// The time of a condition stays as long as its status does.
func Conditions(k *kubernikusv1.Kluster, reported []metav1.Condition, now time.Time) (next []metav1.Condition, changed bool) {
	for _, c := range reported {
		c.Message, c.ObservedGeneration = Bounded(c.Message), k.Generation
		c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		last := meta.FindStatusCondition(k.Status.Conditions, c.Type)
		if last != nil && last.Status == c.Status {
			c.LastTransitionTime = last.LastTransitionTime
		}
		changed = changed || last == nil || !equality.Semantic.DeepEqual(*last, c)
		next = append(next, c)
	}
	return next, changed
}

// Apply returns the patch that writes conditions, to which a writer adds its other fields. With the uid, a Kluster of the
// same name that came meanwhile is not touched.
func Apply(k *kubernikusv1.Kluster, conditions []metav1.Condition) *kubernikusapply.KlusterApplyConfiguration {
	applied := kubernikusapply.KlusterStatus()
	for _, c := range conditions {
		applied.WithConditions(metaapply.Condition().WithType(c.Type).WithStatus(c.Status).WithReason(c.Reason).
			WithMessage(c.Message).WithLastTransitionTime(c.LastTransitionTime).WithObservedGeneration(c.ObservedGeneration))
	}
	return kubernikusapply.Kluster(k.Name, k.Namespace).WithUID(k.UID).WithStatus(applied)
}

// Bounded returns a message as a condition and an event of a Kluster take it.
func Bounded(message string) string { return kit.Bounded(message, kit.MaxEventMessage) }
