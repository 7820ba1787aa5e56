// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// ReasonChanged means that something changed between the check of the routes and their removal, so that none was removed.
const ReasonChanged openstack.Reason = "ChangedMeanwhile"

// remove deletes routes from the router, unless the last check fails.
func (p Pass) remove(ctx context.Context, router openstack.Router, doomed []openstack.Route) error {
	if len(doomed) == 0 {
		return nil
	}
	if p.Check != nil {
		if err := p.Check(ctx); err != nil {
			return &openstack.Error{Op: "remove routes of router " + router.ID, Reason: ReasonChanged, Err: err}
		}
	}
	if err := p.Network.RemoveRoutes(ctx, router.ID, doomed); err != nil {
		return Explain(ctx, p.Network, router, err)
	}
	return nil
}

// check reports whether a removal is still right: by the Klusters as the API server has them now, not the cache, by the place that the
// router was read at, and by the Lease of this process.
func (r *reconciler) check(ctx context.Context, observed *kubernikusv1.Kluster, target *Target, at clusterid.Place) error {
	all := &kubernikusv1.KlusterList{}
	if err := lists.Complete(r.live).List(ctx, all); err != nil {
		return fmt.Errorf("list klusters: %w", err)
	}
	for i := range all.Items {
		k := &all.Items[i]
		if k.Namespace != observed.Namespace || k.Name != observed.Name || k.UID != observed.UID {
			continue
		}
		if now, reason, _ := targetOf(k, all.Items, r.config); reason != "" || !target.same(now) {
			return errors.New("the Kluster or a sibling changed meanwhile")
		}
		if err := kluster.CheckPlace(k, at); err != nil {
			return err
		}
		return r.fence()
	}
	return errors.New("the Kluster has been deleted")
}

// writeStatus writes the condition RoutesClean and the orphans if they changed; nil removes them.
func (r *reconciler) writeStatus(
	ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition, routes *kubernikusv1.RouteGCStatus,
) error {
	next, changed := kluster.Condition(k, kubernikusv1.ConditionRoutesClean, condition, r.clock.Now())
	if !changed && equality.Semantic.DeepEqual(k.Status.RouteGC, routes) {
		return nil
	}
	err := kluster.WriteStatus(ctx, r.client, k, kubernikusv1.KlusterStatus{Conditions: next, RouteGC: routes}, fieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	r.announce(ctx, k, condition)
	return nil
}
