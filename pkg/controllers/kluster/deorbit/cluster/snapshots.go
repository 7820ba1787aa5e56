// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
)

// snapshotVersions are those of the snapshots' API that there are, the best first.
var snapshotVersions = []string{"v1", "v1beta1", "v1alpha1"}

// snapshots reads what the cluster has of snapshots, which may be nothing. That they cannot be listed may not be the API server's
// fault, but that of a webhook that converts them. Then no snapshot is in the world, and trouble reports why.
func (c *Connection) snapshots(ctx context.Context, world *inventory.World) (trouble []kubernikusv1.DeorbitObject, err error) {
	failed := c.listSnapshots(ctx, world)
	if failed == nil {
		return nil, nil
	}
	world.Snapshots, world.Contents = nil, nil
	if _, ok := errors.AsType[*apierrors.StatusError](failed); !ok {
		return nil, failed
	}
	if _, err := c.ID(ctx); err != nil {
		return nil, err
	}
	return []kubernikusv1.DeorbitObject{{Kind: plan.KindSnapshot, Reason: failed.Error()}}, nil
}

// listSnapshots reads snapshots before their contents: what was bound when the snapshot was read has its content then.
func (c *Connection) listSnapshots(ctx context.Context, world *inventory.World) (err error) {
	served := map[string]bool{}
	for _, version := range snapshotVersions {
		world.SnapshotVersion = version
		if served, err = c.served(ctx, "/apis/"+plan.SnapshotGroup+"/"+version); err != nil {
			return err
		}
		if len(served) > 0 {
			break
		}
	}
	if world.Snapshots, err = custom(ctx, c, served, "volumesnapshots", world.SnapshotVersion, inventory.SnapshotOf); err != nil {
		return err
	}
	classes, err := custom(ctx, c, served, "volumesnapshotclasses", world.SnapshotVersion, inventory.SnapshotClassOf)
	if err != nil {
		return err
	}
	world.SnapshotDrivers = map[string]string{}
	for _, class := range classes {
		world.SnapshotDrivers[class.Name] = class.Driver
	}
	world.Contents, err = custom(ctx, c, served, "volumesnapshotcontents", world.SnapshotVersion, inventory.ContentOf)
	world.Listed.Snapshots = err == nil
	return err
}

// custom lists a kind of snapshots' API, of which there are none when it is not served.
func custom[K any](
	ctx context.Context, c *Connection, served map[string]bool, resource, version string, keep func(*unstructured.Unstructured) K,
) ([]K, error) {
	if !served[resource] {
		return nil, nil
	}
	client := c.dynamic.Resource(schema.GroupVersionResource{Group: plan.SnapshotGroup, Version: version, Resource: resource})
	kept, err := whole(ctx, client.List, func(l *unstructured.UnstructuredList) []unstructured.Unstructured { return l.Items }, all(keep))
	return kept, c.listed(ctx, "/apis/"+plan.SnapshotGroup+"/"+version, resource, err)
}
