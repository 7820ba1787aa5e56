// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// Reasons of the condition Announced, besides those of kluster.WhyUnusable.
const (
	reasonAnnounced  = "Announced"
	reasonAnnouncing = "Announcing"
	// reasonWithdrawing: traffic is moved away, and then the DiscoveryBackend and its Secret go.
	reasonWithdrawing = "Withdrawing"
	// reasonNameTaken: another client has an object of the name that one of them needs.
	reasonNameTaken = "NameTaken"
	// reasonNameInvalid: no DiscoveryBackend may have the name of the Kluster.
	reasonNameInvalid = "NameInvalid"
	// reasonRefused: the API server rejects one of them.
	reasonRefused   = "Refused"
	reasonNotServed = "NotServed"
)

// eventWithdrawn: the announcement was taken back. The other events have the reason of the condition.
const eventWithdrawn = "Withdrawn"

const actionAnnounce = "Announce"

// current returns what the status reports about the announcement, nil when there is none and never was.
func current(k *kubernikusv1.Kluster) *metav1.Condition {
	return meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAnnounced)
}

func announced(k *kubernikusv1.Kluster) *metav1.Condition {
	return &metav1.Condition{Type: kubernikusv1.ConditionAnnounced, Status: metav1.ConditionTrue, Reason: reasonAnnounced,
		Message: fmt.Sprintf("DiscoveryBackend %s/%s announces the cluster", k.Spec.Discovery.Namespace, k.Name)}
}

func notAnnounced(reason, format string, args ...any) *metav1.Condition {
	return &metav1.Condition{Type: kubernikusv1.ConditionAnnounced, Status: metav1.ConditionFalse, Reason: reason,
		Message: fmt.Sprintf(format, args...)}
}

// record reports a condition whose reason is new. A warning is what a user has to repair.
func (r *reconciler) record(ctx context.Context, k *kubernikusv1.Kluster, last, condition *metav1.Condition) {
	if condition == nil {
		log.FromContext(ctx).Info("A Kluster is no longer announced")
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventWithdrawn, actionAnnounce,
			"the cluster is no longer announced: nothing of its announcement is left")
		return
	}
	if last != nil && last.Status == condition.Status && last.Reason == condition.Reason {
		return
	}
	log.FromContext(ctx).Info("The announcement of a Kluster changed", "status", condition.Status, "reason", condition.Reason,
		"message", condition.Message)
	kind := corev1.EventTypeWarning
	switch condition.Reason {
	case reasonAnnouncing:
		return
	case reasonAnnounced, reasonWithdrawing:
		kind = corev1.EventTypeNormal
	}
	r.recorder.Eventf(k, nil, kind, condition.Reason, actionAnnounce, "%s", kluster.Bounded(condition.Message))
}
