// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Routes reads the router once, and removes all routes into the clusterCIDR that are in no sibling's range, whatever their next hop is:
// the cluster is being deleted, and no controller would remove them later. The target is that of routegc.TargetFor, or nil. If why is not
// empty, nothing is removed: routes are reported as remaining if it begins with CIDRConflict, RouterUnknown, or a reason of
// Conflicts.Hold, and as retained otherwise. An error means that nothing was removed, or that the outcome of the removal is unknown.
func (p Project) Routes(ctx context.Context, w stage.Work, target *routegc.Target, why string) (stage.Report, error) {
	if target == nil && why == "" {
		return stage.Report{}, nil
	}
	if target == nil {
		return left([]kubernikusv1.DeorbitObject{{Kind: KindRouter, ID: w.Kluster.RouterID()}}, why), nil
	}
	if p.ID == "" {
		return stage.Report{}, errNoProject
	}
	if target.RouterID == "" {
		return p.unknownRouter(ctx, why)
	}
	router, err := p.Network.Router(ctx, target.RouterID)
	if openstack.IsNotFound(err) {
		return stage.Report{Listed: []string{KindRoute}}, nil // its routes went with it
	}
	if err != nil {
		return stage.Report{}, err
	}
	report, err := p.removeRoutes(ctx, w, target, router, why)
	report.Listed = []string{KindRoute}
	return report, err
}

// removeRoutes does so with the routes that a router has.
func (p Project) removeRoutes(
	ctx context.Context, w stage.Work, target *routegc.Target, router openstack.Router, why string,
) (stage.Report, error) {
	doomed := target.Scope.Owned(router.Routes)
	objects := routeObjects(router.ID, doomed)
	switch {
	case len(doomed) == 0:
		return stage.Report{}, nil
	case router.ProjectID != p.ID:
		return stage.Report{Undecided: because(objects, "the router is of another project: "+router.ProjectID)}, nil
	case why != "":
		return left(objects, why), nil
	case target.DryRun:
		return stage.Report{Retained: because(objects, "routeGC.dryRun is set")}, nil
	}
	var held []kubernikusv1.DeorbitObject
	if w.RoutesLeft || target.Shared != "" {
		reason := ReasonCameBack
		if target.Shared != "" {
			reason = "it may be of Kluster " + target.Shared + ", which has the same range and Route GC disabled: the next hop is or may be a port"
		}
		var kept []openstack.Route
		var err error
		if kept, doomed, err = p.withNodes(ctx, router, doomed); err != nil {
			return stage.Report{}, err
		}
		held, objects = because(routeObjects(router.ID, kept), reason), routeObjects(router.ID, doomed)
		if len(doomed) == 0 {
			return stage.Report{Remaining: held}, nil
		}
	}
	if err := p.allowed(removal{object: kubernikusv1.DeorbitObject{Kind: KindRoute, ID: router.ID}}); err != nil {
		return stage.Report{Remaining: append(held, because(objects, err.Error())...)}, err
	}
	if err := p.Network.RemoveRoutes(ctx, router.ID, doomed); err != nil {
		err = routegc.Explain(ctx, p.Network, router, err)
		report := stage.Report{Remaining: append(held, because(objects, err.Error())...)}
		if rejected(err) {
			return report, nil
		}
		return report, err
	}
	return stage.Report{Deleted: objects, Remaining: held}, nil
}

// ReasonCameBack is why a route remains that is made again after each removal.
const ReasonCameBack = "it came back after it was removed: the cloud controller manager of the cluster still makes routes for its nodes. " +
	"Stop it or delete the nodes"

// withNodes divides routes into those whose next hop is, or on a network of another project may be, a port on the networks of the router, and
// the others.
func (p Project) withNodes(
	ctx context.Context, router openstack.Router, routes []openstack.Route,
) (with, without []openstack.Route, err error) {
	networks, err := p.Network.RouterNetworks(ctx, router.ID)
	if err != nil {
		return nil, nil, err
	}
	ports, err := p.Network.PortsOn(ctx, networks)
	if err != nil {
		return nil, nil, err
	}
	hidden, err := p.Network.HiddenRanges(ctx, networks)
	if err != nil {
		return nil, nil, err
	}
	there := map[netip.Addr]bool{}
	for _, port := range ports {
		for _, address := range port.Addresses {
			there[address] = true
		}
	}
	for _, r := range routes {
		hop, err := netip.ParseAddr(r.NextHop)
		isIn := func(cidr netip.Prefix) bool { return cidr.Contains(hop.Unmap()) }
		if err == nil && (there[hop.Unmap()] || slices.ContainsFunc(hidden, isIn)) {
			with = append(with, r)
		} else {
			without = append(without, r)
		}
	}
	return with, without, nil
}

// left returns the report about what is left alone: a user has to settle a conflict, or to name the router, everything else is as
// requested.
func left(objects []kubernikusv1.DeorbitObject, why string) stage.Report {
	for _, reason := range []string{
		kubernikusv1.ReasonCIDRConflict, kubernikusv1.ReasonIdentityConflict, kubernikusv1.ReasonClusterRefused, routegc.ReasonRouterUnknown,
	} {
		if !strings.HasPrefix(why, reason) {
			continue
		}
		report := stage.Report{Remaining: because(objects, why)}
		if reason == routegc.ReasonRouterUnknown {
			report.Stuck = report.Remaining
		}
		return report
	}
	return stage.Report{Retained: because(objects, why)}
}

// rejected reports whether Neutron understood a removal and did not make it. It is tried again in the next check.
func rejected(err error) bool {
	switch openstack.ReasonOf(err) {
	case openstack.ReasonRefused, openstack.ReasonConflict, openstack.ReasonForbidden, openstack.ReasonNotFound:
		return true
	default:
		return false
	}
}

// unknownRouter returns the report about a Kluster whose router was never known. A project without any has no routes.
func (p Project) unknownRouter(ctx context.Context, why string) (stage.Report, error) {
	ids, err := p.Network.RouterIDs(ctx)
	if err != nil || len(ids) == 0 {
		return stage.Report{}, err
	}
	var routers []kubernikusv1.DeorbitObject
	for _, id := range ids {
		routers = append(routers, kubernikusv1.DeorbitObject{Kind: KindRouter, ID: id})
	}
	return left(routers, why), nil
}

// routeObjects are routes as reports have them.
func routeObjects(router string, routes []openstack.Route) []kubernikusv1.DeorbitObject {
	var objects []kubernikusv1.DeorbitObject
	for _, r := range routes {
		objects = append(objects, kubernikusv1.DeorbitObject{Kind: KindRoute, Name: r.String(), ID: router})
	}
	return objects
}

func because(objects []kubernikusv1.DeorbitObject, reason string) []kubernikusv1.DeorbitObject {
	for i := range objects {
		objects[i].Reason = reason
	}
	return objects
}
