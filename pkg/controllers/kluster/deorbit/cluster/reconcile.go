// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// Run performs one check of a stage: Freeze, Pods, Snapshots, Claims, Services or Wait. An error means that the API server is
// unreachable, rejects the credentials, or fails. The report then has only the actions before the error. A rejected request for a single
// object is not an error: the object remains, with the reason. A kind that the cluster does not serve is not an error either.
func (c *Connection) Run(ctx context.Context, s kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	enough := time.Now().Add(writingTime)
	var unfrozen []kubernikusv1.DeorbitObject
	if s == kubernikusv1.DeorbitFreeze {
		var err error
		if unfrozen, err = c.freeze(ctx); err != nil {
			return stage.Report{}, err
		}
	}
	world, trouble, err := c.inspect(ctx, s, w)
	if err != nil {
		return stage.Report{}, err
	}
	p, err := planFor(s, world, w)
	if err != nil {
		return stage.Report{}, err
	}
	p.Undecide(world, w.Policies)
	p.Remaining = append(p.Remaining, append(trouble, unfrozen...)...)
	return c.execute(ctx, p, enough)
}

func planFor(s kubernikusv1.DeorbitStage, world *inventory.World, w stage.Work) (plan.Plan, error) {
	switch s {
	case kubernikusv1.DeorbitFreeze:
		return plan.Record(world, w.Recorded), nil
	case kubernikusv1.DeorbitPods:
		return plan.Pods(world, w), nil
	case kubernikusv1.DeorbitSnapshots:
		return plan.Snapshots(world, w), nil
	case kubernikusv1.DeorbitClaims:
		return plan.Claims(world, w), nil
	case kubernikusv1.DeorbitServices:
		return plan.Services(world, w), nil
	case kubernikusv1.DeorbitWait:
		return plan.Wait(world, w), nil
	}
	return plan.Plan{}, fmt.Errorf("stage %q is not done in the workload cluster", s)
}

// inspect reads what a stage needs. trouble is what could not be listed although the API server works. Freeze reads all there is to be
// recorded, after the freeze is in force: should the API server have been deleted later, nothing else knows it.
func (c *Connection) inspect(
	ctx context.Context, s kubernikusv1.DeorbitStage, w stage.Work,
) (world *inventory.World, trouble []kubernikusv1.DeorbitObject, err error) {
	world = &inventory.World{Finalized: c.finalized, Drivers: w.Drivers, LoadBalancerClasses: w.LoadBalancerClasses}
	volumes := func() error { return c.volumes(ctx, world) }
	services := func() error { return c.services(ctx, world) }
	snapshots := func() (err error) {
		trouble, err = c.snapshots(ctx, world)
		return err
	}
	switch s {
	case kubernikusv1.DeorbitFreeze:
		err = inTurn(volumes, services, snapshots, func() error { return c.controllers(ctx, world) })
		trouble = nil // a matter of the stage Snapshots
	case kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims:
		err = c.checkClaims(ctx, world, w.Policies.PersistentVolumes)
	case kubernikusv1.DeorbitSnapshots:
		err = snapshots()
	case kubernikusv1.DeorbitServices:
		err = services()
	case kubernikusv1.DeorbitWait:
		err = inTurn(func() error { return c.claims(ctx, world) }, volumes, services, func() error {
			if w.Policies.PersistentVolumes != kubernikusv1.DeletionPolicyDelete || !world.HasOwn() && !w.EndsInCluster() {
				return nil
			}
			return snapshots() // those that stay keep their volumes
		})
		if !w.EndsInCluster() {
			trouble = nil // a matter of the stage Snapshots
		}
	}
	return world, trouble, err
}

func inTurn(functions ...func() error) error {
	for _, f := range functions {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// checkClaims reads what Deorbit deletes, or else only what is to be recorded. Claims are read before their volumes, so
// that the volume of a claim that is bound is known, and pods last: what they use is known then.
func (c *Connection) checkClaims(ctx context.Context, world *inventory.World, policy kubernikusv1.DeletionPolicy) error {
	if policy != kubernikusv1.DeletionPolicyDelete {
		return c.volumes(ctx, world)
	}
	if err := c.claims(ctx, world); err != nil {
		return err
	}
	if err := c.volumes(ctx, world); err != nil || !world.HasOwn() {
		return err
	}
	return c.pods(ctx, world)
}
