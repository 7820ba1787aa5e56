// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// write records how far a Deorbit is when that is new, and then reports what happened.
func (r *reconciler) write(ctx context.Context, k *kubernikusv1.Kluster, s *state, condition metav1.Condition) error {
	now := r.clock.Now()
	// The cache may be behind what was written last.
	known := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Generation: k.Generation}}
	if s.reported != nil {
		known.Status.Conditions = []metav1.Condition{*s.reported}
	}
	conditions, changed := kluster.Conditions(known, []metav1.Condition{condition}, now)
	s.condition = &conditions[0]
	status := listed(s.progress.DeorbitStatus)
	if !changed && equality.Semantic.DeepEqual(status, s.written) {
		r.report(ctx, k, s)
		return nil
	}
	if err := r.apply(ctx, k, &status, conditions); err != nil {
		return err
	}
	r.announce(ctx, k, s.reported, conditions[0])
	s.written, s.reported = *status.DeepCopy(), s.condition.DeepCopy()
	r.report(ctx, k, s)
	return nil
}

// conclude reports about a Kluster that is released, and that others still keep, that it is.
func (r *reconciler) conclude(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k.Status.Deorbit == nil || k.Detached() {
		return nil
	}
	conditions, changed := kluster.Conditions(k, []metav1.Condition{doneCondition(k.Status.Deorbit)}, r.clock.Now())
	if !changed {
		return nil
	}
	return client.IgnoreNotFound(r.apply(ctx, k, k.Status.Deorbit, conditions))
}

// apply writes a status, unless another process may be at it.
func (r *reconciler) apply(ctx context.Context, k *kubernikusv1.Kluster, status *kubernikusv1.DeorbitStatus, conditions []metav1.Condition) error {
	if err := r.fence(); err != nil {
		return fmt.Errorf("write the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	err := r.client.Status().Apply(ctx, applied(k, status, conditions), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	return nil
}
