// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

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

// Condition is Conditions for one of a type; nil takes away the one that is there.
func Condition(k *kubernikusv1.Kluster, kind string, reported *metav1.Condition, now time.Time) (next []metav1.Condition, changed bool) {
	if reported == nil {
		return nil, meta.FindStatusCondition(k.Status.Conditions, kind) != nil
	}
	return Conditions(k, []metav1.Condition{*reported}, now)
}

// ApplyStatus returns the patch that writes what a status has, and no field that is empty. With the uid, a Kluster of the same name that
// came meanwhile is not touched.
func ApplyStatus(k *kubernikusv1.Kluster, status kubernikusv1.KlusterStatus) *kubernikusapply.KlusterApplyConfiguration {
	applied := kubernikusapply.KlusterStatus()
	text, err := json.Marshal(status)
	utilruntime.Must(errors.Join(err, json.Unmarshal(text, applied))) // both types have the same fields in JSON
	return kubernikusapply.Kluster(k.Name, k.Namespace).WithUID(k.UID).WithStatus(applied)
}

// Bounded returns a message as a condition and an event of a Kluster take it.
func Bounded(message string) string { return kit.Bounded(message, kit.MaxEventMessage) }
