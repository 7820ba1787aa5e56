// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// orphans are objects that are kept for a Cluster that does not exist any more, with what releases them.
type orphans struct {
	observed
	plan
}

// releaseOrphans removes what keeps the objects of a Cluster that was removed by force: they would otherwise never be deleted. Neither
// Cluster API nor its provider changes anything in OpenStack for an object without its Cluster.
func (r *reconciler) releaseOrphans(ctx context.Context, key types.NamespacedName) error {
	all, err := orphansOf(ctx, key, r.watched)
	if err != nil || len(all) == 0 {
		return err
	}
	if all, err = orphansOf(ctx, key, r.current()); err != nil {
		return err
	}
	for _, each := range all {
		if err := r.writeHolds(ctx, each.observed, each.plan); err != nil {
			return err
		}
	}
	return nil
}

// orphansOf returns the orphans of a Cluster. It reads the Cluster last: one that was created meanwhile keeps its own objects.
func orphansOf(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader) (all []orphans, err error) {
	if err := requireServed(ctx, objects, clusters, machines, infrastructures); err != nil {
		return nil, err
	}
	held, err := objects.Find(ctx, infrastructures, resourcewatch.Query{Namespace: key.Namespace, Index: clusterIndex, Value: key.String()})
	if err != nil {
		return nil, err
	}
	hooked, err := machinesOf(ctx, key, objects)
	if err != nil {
		return nil, err
	}
	c, err := clusterOf(ctx, key, objects)
	if err != nil || c != nil && c.Invalid != nil {
		return nil, err
	}
	for _, object := range held {
		i, ok := object.Value.(*desired.Infrastructure)
		if ok && i.Cluster == key.Name && (c == nil || i.ClusterUID != c.UID) && (i.Finalized || i.PausedForDeorbit) {
			all = append(all, orphans{observed{infrastructure: i}, plan{holds: &holds{}}})
		}
	}
	if c == nil {
		rest := orphans{observed: observed{machines: hooked}}
		if rest.hookAll(rest.observed, false); len(rest.hooks) > 0 {
			all = append(all, rest)
		}
	}
	return all, nil
}
