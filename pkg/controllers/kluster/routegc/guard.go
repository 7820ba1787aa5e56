// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// ReasonChanged means that something changed between the check of the routes and their removal, so that none was removed.
const ReasonChanged openstack.Reason = "ChangedMeanwhile"

// guarded is Neutron with a last check of the Klusters before a removal.
type guarded struct {
	Network
	check func(ctx context.Context) error
}

// RemoveRoutes implements Network.
func (g guarded) RemoveRoutes(ctx context.Context, routerID string, doomed []openstack.Route) error {
	if len(doomed) == 0 {
		return nil
	}
	if err := g.check(ctx); err != nil {
		return &openstack.Error{Op: "remove routes of router " + routerID, Reason: ReasonChanged, Err: err}
	}
	return g.Network.RemoveRoutes(ctx, routerID, doomed)
}

// finalCheck reports whether a removal is still right: by the Klusters as the API server has them now, not the cache, and by the
// Lease of this process.
type finalCheck struct {
	live   client.Reader
	config configv1alpha1.RouteGCConfiguration
	fence  func() error
	object types.NamespacedName
	uid    types.UID
	target *Target
	// at is the place that the router was read at.
	at kluster.Place
}

func (l finalCheck) check(ctx context.Context) error {
	all := &kubernikusv1.KlusterList{}
	if err := lists.Complete(l.live).List(ctx, all); err != nil {
		return fmt.Errorf("list klusters: %w", err)
	}
	for i := range all.Items {
		k := &all.Items[i]
		if client.ObjectKeyFromObject(k) != l.object || k.UID != l.uid {
			continue
		}
		if !l.target.same(planFor(k, all.Items, l.config).target) {
			return errors.New("the Kluster or a sibling changed meanwhile")
		}
		if err := kluster.CheckPlace(k, l.at); err != nil {
			return err
		}
		return l.fence()
	}
	return errors.New("the Kluster has been deleted")
}
