// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// held returns why the check may change nothing, nil when it may, by what the API server has now: the cache may lack a Kluster that was
// created a moment ago.
func (l probe) held(ctx context.Context, work stage.Work, own identity) (*hold, error) {
	if l.connection == nil && !l.cloud {
		return nil, nil // there is nothing that could be changed
	}
	others, err := l.twins(ctx, own.id)
	if err != nil {
		return nil, err
	}
	var backends []gimbalv1.DiscoveryBackend
	if own.id != "" {
		if backends, err = announce.BackendsOf(ctx, l.live, own.id); err != nil {
			return nil, err //nolint:wrapcheck // it names what it lists
		}
	}
	return holdOf(work, own, others, backends), nil
}

// twins returns the Klusters that lead to a cluster, and those whose cluster is unknown. All Klusters are listed only for a cluster that is
// unknown itself.
func (l probe) twins(ctx context.Context, id string) ([]kubernikusv1.Kluster, error) {
	if id == "" {
		return l.klusters(ctx)
	}
	unknown, err := l.unidentified.Read(ctx, func(ctx context.Context) ([]kubernikusv1.Kluster, error) {
		return l.read(ctx, client.MatchingFields{kubernikusv1.KlusterClusterField: ""})
	})
	if err != nil {
		return nil, err
	}
	// Read second: one that is identified in between is in both lists, and not in neither.
	same, err := l.read(ctx, client.MatchingFields{kubernikusv1.KlusterClusterField: id})
	return slices.Concat(unknown, same), err
}

// klusters returns all Klusters. The checks share the list: many begin at a time, and each response may have thousands.
func (r *reconciler) klusters(ctx context.Context) ([]kubernikusv1.Kluster, error) {
	return r.all.Read(ctx, func(ctx context.Context) ([]kubernikusv1.Kluster, error) { return r.read(ctx) })
}

// read returns Klusters as the API server has them, without what is recorded for themselves only: a check may retain the list for minutes.
func (r *reconciler) read(ctx context.Context, options ...client.ListOption) ([]kubernikusv1.Kluster, error) {
	found := &kubernikusv1.KlusterList{}
	if err := lists.Complete(r.live).List(ctx, found, options...); err != nil {
		return nil, fmt.Errorf("list klusters: %w", err)
	}
	for i := range found.Items {
		k := &found.Items[i]
		k.ManagedFields = nil
		if d := k.Status.Deorbit; d != nil {
			d.Remaining, d.Retained, d.Undecided, d.SeenVolumes, d.SeenSnapshots, d.SeenServices = nil, nil, nil, nil, nil, nil
		}
	}
	return found.Items, nil
}

// id reads the identity of the workload cluster.
func (l probe) id(ctx context.Context) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return l.connection.ID(ctx)
}

// thaw lifts the freeze of a cluster that is still used, and reports whether it did, unless another Kluster of the cluster that is torn down
// relies on it.
func (l probe) thaw(ctx context.Context, k *kubernikusv1.Kluster, id string) (lifted bool, err error) {
	if l.connection == nil {
		return false, l.wayErr
	}
	others, err := l.twins(ctx, id)
	if err != nil {
		return false, err
	}
	for i := range others {
		other := &others[i]
		if other.UID != k.UID && other.ClusterID() == id && !leaves(other) && !stays(other) && other.Status.Deorbit != nil && isFrozen(other.Status.Deorbit.Stage) {
			return false, nil
		}
	}
	return l.connection.Thaw(ctx)
}

// isFrozen reports whether a cluster may be frozen in a stage.
func isFrozen(s kubernikusv1.DeorbitStage) bool { return s != "" && s != kubernikusv1.DeorbitDrain }
