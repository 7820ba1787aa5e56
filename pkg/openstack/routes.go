// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
)

// extensionAtomicRoutes is the extension that removes single routes of a router, whatever the others are meanwhile.
const extensionAtomicRoutes = "extraroute-atomic"

// removeAttempts is how often a router is read again because another client changed it meanwhile.
const removeAttempts = 8

// Route is a static route of a router, with its texts as Neutron has them: it is removed by exactly these.
type Route struct {
	// Destination is a network, as 100.100.1.0/24, and NextHop the address it is reached by.
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// String is destination and next hop.
func (r Route) String() string { return r.Destination + " via " + r.NextHop }

// Router is a router and its routes.
type Router struct {
	ID        string  `json:"id"`
	ProjectID string  `json:"project_id"`
	Routes    []Route `json:"routes"`
	// Revision counts the changes of the router; nil: this Neutron does not count them.
	Revision *int `json:"revision_number"`
}

// Router reads a router.
func (n Network) Router(ctx context.Context, id string) (Router, error) {
	var response struct {
		Router Router `json:"router"`
	}
	op := "read router " + id
	err := n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
		return routers.Get(ctx, neutron, url.PathEscape(id)).ExtractInto(&response)
	})
	if err == nil && response.Router.ID != id {
		return Router{}, incomplete(op, "the response is not this router")
	}
	return response.Router, err
}

// RemoveRoutes removes routes from a router and leaves all others unchanged, even if another client changes them at the same time.
// Routes that have already been deleted are fine. Neutron checks the routes that remain: one of another client that is not valid
// makes it reject, with a message that names it.
func (n Network) RemoveRoutes(ctx context.Context, routerID string, doomed []Route) error {
	if len(doomed) == 0 {
		return nil
	}
	atomic, err := n.HasExtension(ctx, extensionAtomicRoutes)
	if err != nil {
		return err
	}
	if !atomic {
		return n.RemoveRoutesByRevision(ctx, routerID, doomed)
	}
	opts := extraroutes.Opts{Routes: libraryRoutes(doomed)}
	return n.call(ctx, removeOp(routerID, doomed), func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
		return extraroutes.Remove(ctx, neutron, url.PathEscape(routerID), opts).Err
	})
}

// RemoveRoutesByRevision is RemoveRoutes without the extension: it replaces the list of routes, on the condition that the router is
// unchanged since it was read, and reads it again when it is not. It never writes without that condition.
func (n Network) RemoveRoutesByRevision(ctx context.Context, routerID string, doomed []Route) error {
	op := removeOp(routerID, doomed)
	for range removeAttempts {
		router, err := n.Router(ctx, routerID)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(router.Routes), func(r Route) bool { return slices.Contains(doomed, r) })
		if len(rest) == len(router.Routes) {
			return nil
		}
		if router.Revision == nil {
			return &Error{Op: op, Reason: ReasonRefused, Err: errors.New("this Neutron has neither the extension " +
				extensionAtomicRoutes + " nor revision numbers, so that removing routes could lose another client's: enable one of them")}
		}
		opts := routers.UpdateOpts{Routes: libraryRoutes(rest), RevisionNumber: router.Revision}
		err = n.call(ctx, op, func(ctx context.Context, neutron *gophercloud.ServiceClient) error {
			return routers.Update(ctx, neutron, url.PathEscape(routerID), opts).Err
		})
		if ReasonOf(err) != ReasonConflict {
			return err
		}
	}
	return &Error{Op: op, Reason: ReasonConflict, Err: fmt.Errorf("another client changed the router each of %d times", removeAttempts)}
}

func removeOp(routerID string, doomed []Route) string {
	return fmt.Sprintf("remove %d routes of router %s", len(doomed), routerID)
}

// libraryRoutes are routes as gophercloud has them; none is an empty list, not nothing.
func libraryRoutes(routes []Route) *[]routers.Route {
	converted := make([]routers.Route, len(routes))
	for i, r := range routes {
		converted[i] = routers.Route{DestinationCIDR: r.Destination, NextHop: r.NextHop}
	}
	return &converted
}

// InvalidRoutes names the routes that make Neutron reject every change of a router's routes: their next hop is in no network of the
// router, or is the router itself. Neutron's own message quotes all routes.
func (n Network) InvalidRoutes(ctx context.Context, router Router) ([]Route, error) {
	op := "find invalid routes of router " + router.ID
	ports, err := n.ports(ctx, op, url.Values{"device_id": {router.ID}})
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	var networks []string
	for _, p := range ports {
		own, networks = append(own, p.Addresses...), append(networks, p.NetworkID)
	}
	var connected []netip.Prefix
	if len(networks) > 0 {
		subnets, err := n.subnets(ctx, op, networks)
		if err != nil {
			return nil, err
		}
		connected = slices.Concat(slices.Collect(maps.Values(subnets))...)
	}
	return slices.DeleteFunc(slices.Clone(router.Routes), func(r Route) bool {
		hop, err := netip.ParseAddr(r.NextHop)
		in := func(cidr netip.Prefix) bool { return cidr.Contains(hop.Unmap()) }
		return err == nil && slices.ContainsFunc(connected, in) && !slices.Contains(own, hop.Unmap())
	}), nil
}
