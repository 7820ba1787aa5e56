// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Network is what a reconciliation needs of Neutron.
type Network interface {
	Router(ctx context.Context, id string) (openstack.Router, error)
	RouterNetworks(ctx context.Context, routerID string) ([]string, error)
	PortsOn(ctx context.Context, networks []string) ([]openstack.Port, error)
	PortsByID(ctx context.Context, ids []string) ([]openstack.Port, error)
	Trunks(ctx context.Context) ([]openstack.Trunk, error)
	FloatingIPs(ctx context.Context, addresses []netip.Addr) ([]openstack.FloatingIP, error)
	RemoveRoutes(ctx context.Context, routerID string, doomed []openstack.Route) error
	InvalidRoutes(ctx context.Context, router openstack.Router) ([]openstack.Route, error)
}

// Compute is what a reconciliation needs of Nova.
type Compute interface {
	Servers(ctx context.Context) ([]openstack.Server, error)
	ServerExists(ctx context.Context, id string) (bool, error)
}

// Target is the router of a cluster and how to keep it.
type Target struct {
	RouterID string
	Scope    Scope
	Limits   Limits
	// DryRun reports what would be removed, and removes nothing.
	DryRun bool
	// Shared is a Kluster on the router that has a part of the range and Route GC disabled; "": there is none. It may still have
	// routes, so only those are removed whose next hop is no longer a port.
	Shared string
}

// Result is what a reconciliation saw and did.
type Result struct {
	// Owned is how many routes of the cluster the router had.
	Owned int
	// Removed are the routes that have been deleted now, and Spared those that only DryRun kept.
	Removed, Spared []openstack.Route
	// Waiting are orphans that have to be seen once more.
	Waiting []openstack.Route
	// Orphans are Waiting and Spared, with the reasons and times.
	Orphans []Orphan
	// Suspicion is why they have to wait for a whole interval, if they do.
	Suspicion Suspicion
	// Again is when the next reconciliation may remove more; 0: nothing is urgent, the interval will do.
	Again time.Duration
}

// Pass checks a router once.
type Pass struct {
	// Project is the id of the project whose servers Compute lists.
	Project string
	Network Network
	Compute Compute
	Clock   clock.PassiveClock
}

// Run makes the reconciliation: one request when the router has no route of the cluster, two more or less when all are in use. It
// keeps in memory what the next reconciliation needs. An error means that something could not be seen, and then nothing was
// removed, or that the removal failed: the next reconciliation tries again what is still there.
func (p Pass) Run(ctx context.Context, t Target, memory *Memory) (Result, error) {
	router, err := p.Network.Router(ctx, t.RouterID)
	if err != nil {
		return Result{}, err
	}
	own := t.Scope.Owned(router.Routes)
	if len(own) == 0 {
		*memory = Memory{}
		return Result{}, nil
	}
	if router.ProjectID != p.Project {
		return Result{}, unproven(router.ID, "the router is of project %s, and the servers that are seen are those of project %s: put credentials of the router's project in the Secret",
			router.ProjectID, p.Project)
	}
	servers, err := p.Compute.Servers(ctx)
	if err != nil {
		return Result{}, err
	}
	orphans, err := p.prove(ctx, t.RouterID, candidates(own, servers), servers)
	if err != nil {
		return Result{}, err
	}
	next, v := memory.judge(p.Clock.Now(), own, orphans, len(servers), t.Limits)
	*memory = next
	sure := routesOf(v.remove)
	result := Result{Owned: len(own), Waiting: routesOf(v.wait), Orphans: v.wait, Suspicion: v.suspicion, Again: v.again}
	if t.DryRun {
		result.Spared, result.Orphans = sure, slices.Concat(v.remove, v.wait)
		for i := range result.Orphans {
			result.Orphans[i].Due = time.Time{}
		}
		return result, nil
	}
	if err := p.Network.RemoveRoutes(ctx, t.RouterID, sure); err != nil {
		result.Waiting, result.Orphans = routesOf(orphans), slices.Concat(v.remove, v.wait)
		return result, Explain(ctx, p.Network, router, err)
	}
	memory.drop(sure)
	result.Removed = sure
	return result, nil
}

// Explain names the routes of others that made Neutron reject a removal: it checks all that remain.
func Explain(ctx context.Context, network interface {
	InvalidRoutes(ctx context.Context, router openstack.Router) ([]openstack.Route, error)
}, router openstack.Router, rejection error) error {
	if openstack.ReasonOf(rejection) != openstack.ReasonRefused {
		return rejection
	}
	invalid, err := network.InvalidRoutes(ctx, router)
	if err != nil || len(invalid) == 0 {
		return rejection
	}
	return fmt.Errorf("%w; not valid on this router, and to be removed manually: %s", rejection, names(invalid))
}
