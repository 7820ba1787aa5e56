// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cloud"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// A cloud controller manager that still runs recreates the routes of its nodes, every 10 s by default
// (--route-reconciliation-period), and Neutron then rejects the removal of the router's interface. A removal is therefore complete
// only when the routes have been absent for two poll intervals and for three such periods: the cloud controller manager reads the
// router and waits for Neutron before it recreates a route, which takes seconds longer than its period. Recreated routes are
// removed again every routesRetry, or when their node has been deleted. Until then, the nodes that still exist retain their routes.
const (
	minRoutesResync = 30 * time.Second
	routesRetry     = 5 * time.Minute
)

// routesResync is how long removed routes have to stay away.
func routesResync(poll time.Duration) time.Duration { return max(2*poll, minRoutesResync) }

// reasonResync is why a removed route still counts as remaining. It is in the status, where the next process finds it.
const reasonResync = "removed: whether it stays away is checked after a full resync of the cloud controller manager"

type returning struct {
	// removed have the reason that they remain with: whether the route was there again after it was removed.
	removed []kubernikusv1.DeorbitObject
	// at is when routes were removed last; zero: not by this process.
	at time.Time
}

// returningOf returns what a status reports about removed routes.
func returningOf(status *kubernikusv1.DeorbitStatus) (r returning) {
	for _, o := range status.Remaining {
		if o.Kind == cloud.KindRoute && (cameBack(o) || o.Reason == reasonResync) {
			r.removed = append(r.removed, o)
		}
	}
	return r
}

func cameBack(route kubernikusv1.DeorbitObject) bool {
	return strings.HasPrefix(route.Reason, cloud.ReasonCameBack)
}

// indexOf returns the index of an object, regardless of its reason; -1: it is not in the list.
func indexOf(list []kubernikusv1.DeorbitObject, object kubernikusv1.DeorbitObject) int {
	return slices.IndexFunc(list, func(o kubernikusv1.DeorbitObject) bool { return keyOf(o) == keyOf(object) })
}

// back reports whether any route was there again after it was removed.
func (r *returning) back() bool { return slices.ContainsFunc(r.removed, cameBack) }

// leaves reports whether routes that came back are left alone by the next check.
func (r *returning) leaves(now time.Time) bool { return r.back() && now.Sub(r.at) < routesRetry }

// settleRoutes takes in which routes a check removed, and lets them remain until they have stayed away for long enough.
func (p *step) settleRoutes(o observed) {
	for i := range o.parts {
		if o.parts[i].stage != kubernikusv1.DeorbitRoutes || o.parts[i].failure != nil {
			continue
		}
		report := &o.parts[i].report
		for _, route := range report.Deleted {
			if route.Kind != cloud.KindRoute {
				continue
			}
			i := indexOf(p.routes.removed, route)
			if i < 0 {
				route.Reason = reasonResync
				p.routes.removed = append(p.routes.removed, route)
				continue
			}
			if !p.routes.back() {
				p.report(true, eventRoutesCameBack, fmt.Sprintf("route %s was there again after it was removed: "+
					"the cloud controller manager of the cluster still runs; stop it or delete the nodes", route.Name))
			}
			p.routes.removed[i].Reason = cloud.ReasonCameBack
		}
		if len(report.Deleted) > 0 || p.routes.at.IsZero() {
			p.routes.at = p.now
		}
		if p.routesSettled() {
			continue
		}
		for _, route := range p.routes.removed {
			if indexOf(report.Remaining, route) < 0 {
				report.Remaining = append(report.Remaining, route)
			}
		}
	}
}

// routesSettled reports whether the routes that have stayed away since the last removal have done so for long enough.
func (p *step) routesSettled() bool { return p.now.Sub(p.routes.at) >= p.routesResync }

// onlyUsersChange reports whether all that a check found stays until a user does something: what its parts report as stuck, what waits for
// that, and routes that come back, when all other routes have stayed away. What could not be checked is unknown.
func (p *step) onlyUsersChange(o observed) bool {
	returns := p.routes.back() && p.routesSettled()
	changes := func(report stage.Report) bool {
		return slices.ContainsFunc(report.Remaining, func(object kubernikusv1.DeorbitObject) bool {
			return !slices.Contains(report.Stuck, object) && !cloud.IsWaiting(object) && (!returns || indexOf(p.routes.removed, object) < 0)
		})
	}
	return o.failure() == nil && o.remains() && !slices.ContainsFunc(o.parts, func(p part) bool { return changes(p.report) })
}
