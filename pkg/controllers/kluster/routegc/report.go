// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	kubernikusapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Reasons of the condition RoutesClean, besides the suspicions and the reasons of failed calls.
const (
	// ReasonClean means that each route of the cluster leads to something.
	ReasonClean = "NoOrphans"
	// ReasonConfirming means that orphans have to be seen once more before they are removed.
	ReasonConfirming = "ConfirmingOrphans"
	// ReasonDryRun means that orphans stay because nothing is to be removed.
	ReasonDryRun = "DryRun"
)

// Condition returns the condition RoutesClean for the result of a reconcile, without time and generation. Its status is Unknown if the
// routes could not be checked, and False while there are orphans.
func Condition(r Result, err error) metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionRoutesClean, Status: metav1.ConditionFalse}
	switch {
	case err != nil:
		c.Reason, c.Message = string(openstack.ReasonOf(err)), err.Error()
		if len(r.Waiting) == 0 {
			c.Status = metav1.ConditionUnknown
		}
	case r.Suspicion != "" && len(r.Waiting) > 0:
		c.Reason, c.Message = string(r.Suspicion), suspicionMessage(r)
	case len(r.Spared) > 0:
		c.Reason, c.Message = ReasonDryRun, fmt.Sprintf("%d orphaned routes would be removed without dryRun: %s", len(r.Spared), names(r.Spared))
	case len(r.Waiting) > 0:
		c.Reason, c.Message = ReasonConfirming, fmt.Sprintf("%d routes lead to no server and are removed if that stays so: %s", len(r.Waiting), names(r.Waiting))
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonClean
		c.Message = fmt.Sprintf("all %d routes of the cluster lead to something", r.Owned-len(r.Removed))
	}
	return c
}

func suspicionMessage(r Result) string {
	found := fmt.Sprintf("%d of %d routes of the cluster lead to no server", len(r.Waiting), r.Owned)
	if r.Suspicion == NoServers {
		found = fmt.Sprintf("the project lists no server at all, but the router has %d routes of the cluster", r.Owned)
	}
	return found + "; they are removed if that is still so one interval later, unless the Kluster is paused or has routeGC.dryRun: " + names(r.Waiting)
}

// maxOrphans is how many routes a status lists.
const maxOrphans = 50

// statusOf lists the orphans as the status of a Kluster has them, nil without any.
func statusOf(orphans []Orphan) *kubernikusv1.RouteGCStatus {
	if len(orphans) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(orphans), func(a, b Orphan) int {
		return cmp.Or(cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.NextHop, b.NextHop))
	})
	status := &kubernikusv1.RouteGCStatus{OrphanCount: int32(len(sorted))}
	for _, o := range sorted[:min(len(sorted), maxOrphans)] {
		status.Orphans = append(status.Orphans, kubernikusv1.OrphanedRoute{Destination: o.Destination, NextHop: o.NextHop, Reason: o.Reason, Since: written(o.Since), RemovalDue: written(o.Due)})
	}
	return status
}

// written is a time as the API server stores it, nil for none.
func written(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t).Rfc3339Copy())
}

// applied adds the orphans to the patch of a status.
func applied(status *kubernikusv1.RouteGCStatus, patch *kubernikusapply.KlusterApplyConfiguration) *kubernikusapply.KlusterApplyConfiguration {
	if status == nil {
		return patch
	}
	to := kubernikusapply.RouteGCStatus().WithOrphanCount(status.OrphanCount)
	for _, o := range status.Orphans {
		orphan := kubernikusapply.OrphanedRoute().WithDestination(o.Destination).WithNextHop(o.NextHop).WithReason(o.Reason)
		orphan.Since, orphan.RemovalDue = o.Since, o.RemovalDue
		to.WithOrphans(orphan)
	}
	patch.Status.WithRouteGC(to)
	return patch
}

// namesLimit is how many routes a message names.
const namesLimit = 10

// names returns the routes as users read them, not more than a few.
func names(routes []openstack.Route) string {
	var texts []string
	for _, r := range routes[:min(len(routes), namesLimit)] {
		texts = append(texts, r.String())
	}
	if more := len(routes) - namesLimit; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
