// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"fmt"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// openstack checks the project, if there is one, by the stage or by both of them that do.
func (l probe) openstack(ctx context.Context, work stage.Work) []part {
	if !l.cloud {
		return nil
	}
	which := []kubernikusv1.DeorbitStage{l.stage}
	if l.stage == kubernikusv1.DeorbitRelease {
		which = []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes}
	}
	parts := make([]part, len(which))
	for i := range which {
		parts[i].stage = which[i]
	}
	all, opened, failed := l.prepare(ctx, work.Kluster)
	for i := range parts {
		if parts[i].failure = failed; failed != nil {
			continue
		}
		run := opened.verify
		if which[i] == kubernikusv1.DeorbitRoutes {
			run = opened.routes
		}
		var err error
		if parts[i].report, err = run(ctx, work, all); err != nil {
			parts[i].failure = l.blame(cloudFailure(err))
		}
	}
	return parts
}

// prepare reads all Klusters, whose names and ranges count, and opens the project.
func (l probe) prepare(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, project, *failure) {
	all := &kubernikusv1.KlusterList{}
	if err := l.live.List(ctx, all); err != nil {
		return nil, nil, internalFailure(fmt.Errorf("list klusters: %w", err))
	}
	if all.Continue != "" {
		return nil, nil, internalFailure(errors.New("the list of klusters is not whole"))
	}
	if l.secretErr != nil {
		return nil, nil, cloudFailure(l.secretErr)
	}
	opened, err := l.systems.open(ctx, k, l.secret)
	if err != nil {
		return nil, nil, l.blame(cloudFailure(err))
	}
	return all.Items, opened, nil
}
