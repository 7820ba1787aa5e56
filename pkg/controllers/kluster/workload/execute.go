// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// writeCondition writes the condition LocalVolumeCleanup when it reports something new; nil takes it away.
func (r *reconciler) writeCondition(ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition) error {
	last := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionLocalVolumeCleanup)
	next, changed := kluster.Condition(k, kubernikusv1.ConditionLocalVolumeCleanup, condition, r.options.Clock.Now())
	if !changed {
		return nil
	}
	err := kluster.WriteStatus(ctx, r.client, k, kubernikusv1.KlusterStatus{Conditions: next}, fieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if condition != nil && (last == nil || last.Status != condition.Status || last.Reason != condition.Reason) {
		log.FromContext(ctx).Info("The local volume cleanup of a Kluster changed",
			"status", condition.Status, "reason", condition.Reason, "message", condition.Message)
		r.announce(k, condition, last)
	}
	return nil
}
