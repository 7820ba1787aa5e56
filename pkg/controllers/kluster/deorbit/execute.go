// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// apply writes a status, unless another process may be at it.
func (r *reconciler) apply(
	ctx context.Context, k *kubernikusv1.Kluster, status *kubernikusv1.DeorbitStatus, conditions []metav1.Condition,
) error {
	if err := r.fence(); err != nil {
		return fmt.Errorf("write the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	next := kubernikusv1.KlusterStatus{Conditions: conditions}
	if status.StartedAt != nil {
		next.Deorbit = status
	}
	return kluster.WriteStatus(ctx, r.client, k, next, fieldOwner)
}

// removeFinalizers removes Groundskeeper's finalizers from a Kluster that is as it was read, or has been deleted.
func (r *reconciler) removeFinalizers(ctx context.Context, current *kubernikusv1.Kluster) error {
	released := current.DeepCopy()
	controllerutil.RemoveFinalizer(released, kubernikusv1.DeorbiterFinalizer)
	controllerutil.RemoveFinalizer(released, kubernikusv1.ImportedDeorbiterFinalizer)
	changes := client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{})
	err := r.client.Patch(ctx, released, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("update the finalizers of kluster %s: %w", client.ObjectKeyFromObject(current), err)
	}
	return nil
}

// execute does what a stage has to, in the systems that it concerns. Stage Release takes the announcement back once more: a Kluster may be
// deleted while it is being announced, and Drain be over before what announces it is there.
func (c check) execute(ctx context.Context, work stage.Work) []part {
	switch {
	case c.stage == kubernikusv1.DeorbitDrain:
		return []part{c.drain(ctx, work)}
	case isInCluster(c.stage):
		report, err := c.connection.Run(ctx, c.stage, work)
		return []part{c.part(c.stage, report, err, clusterFailure)}
	case c.stage == kubernikusv1.DeorbitRelease:
		return append(c.clean(ctx, work, kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes), c.drain(ctx, work))
	default:
		return c.clean(ctx, work, c.stage)
	}
}

// part returns the result of a stage, and the failure that its error means.
func (c check) part(which kubernikusv1.DeorbitStage, report stage.Report, err error, means func(error) *failure) part {
	p := part{stage: which, report: report}
	if err != nil {
		p.failure = c.blame(means(err))
	}
	return p
}

func (c check) drain(ctx context.Context, work stage.Work) part {
	report, err := c.systems.withdraw(ctx, work.Kluster)
	return c.part(kubernikusv1.DeorbitDrain, report, err, internalFailure)
}

// clean checks the project, if there is one, by several stages.
func (c check) clean(ctx context.Context, work stage.Work, stages ...kubernikusv1.DeorbitStage) (parts []part) {
	if c.kluster.Spec.NoCloud {
		return nil
	}
	all, opened, failed := c.project(ctx, work.Kluster)
	for _, which := range stages {
		if failed != nil {
			parts = append(parts, part{stage: which, failure: failed})
			continue
		}
		run := opened.verify
		if which == kubernikusv1.DeorbitRoutes {
			run = opened.routes
		}
		report, err := run(ctx, work, all)
		parts = append(parts, c.part(which, report, err, cloudFailure))
	}
	return parts
}

// thaw lifts the freeze of a cluster that is still used, and reports whether it did, unless another Kluster of the cluster that is torn
// down relies on it.
func (c check) thaw(ctx context.Context, id string) (lifted bool, failed *failure) {
	if c.connection == nil {
		return false, wayFailure(c.kluster, c.connectErr)
	}
	others, err := c.twins(ctx, id)
	if err != nil {
		return false, internalFailure(err)
	}
	if reliesOnFreeze(c.kluster, id, others) {
		return false, nil
	}
	if lifted, err = c.connection.Thaw(ctx); err != nil {
		return false, c.blame(clusterFailure(err))
	}
	return lifted, nil
}
