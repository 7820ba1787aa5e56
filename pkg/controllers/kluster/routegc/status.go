// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Reasons of the condition RoutesClean, besides the suspicions and the reasons of failed calls.
const (
	// ReasonPaused means that an annotation requests that no pass is made.
	ReasonPaused = "Paused"
	// ReasonDisabled means that Route GC is off for the Kluster.
	ReasonDisabled = "Disabled"
	// ReasonRouterUnknown means that the router is neither named nor found.
	ReasonRouterUnknown = "RouterUnknown"
	// ReasonClean means that each route of the cluster leads to something.
	ReasonClean = "NoOrphans"
	// ReasonConfirming means that orphans have to be seen once more before they are removed.
	ReasonConfirming = "ConfirmingOrphans"
	// ReasonDryRun means that orphans stay because nothing is to be removed.
	ReasonDryRun = "DryRun"
)

const (
	// eventRemoved: orphaned routes were removed. The other events have the reason of the condition.
	eventRemoved  = "RoutesRemoved"
	actionCollect = "CollectRoutes"

	// maxOrphans is how many routes a status lists, and maxNames how many a message names.
	maxOrphans = 50
	maxNames   = 10
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
		c.Reason = ReasonConfirming
		c.Message = fmt.Sprintf("%d routes lead to no server and are removed if that stays so: %s", len(r.Waiting), names(r.Waiting))
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
	return found + "; they are removed if that is still so one interval later, unless the Kluster is paused or has routeGC.dryRun: " +
		names(r.Waiting)
}

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
		status.Orphans = append(status.Orphans, kubernikusv1.OrphanedRoute{
			Destination: o.Destination, NextHop: o.NextHop, Reason: o.Reason, Since: written(o.Since), RemovalDue: written(o.Due),
		})
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

// names returns routes as users read them, not more than a few.
func names[R fmt.Stringer](routes []R) string {
	var texts []string
	for _, r := range routes[:min(len(routes), maxNames)] {
		texts = append(texts, r.String())
	}
	if more := len(routes) - maxNames; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// report counts a reconciliation, reports it, and keeps its condition.
func (r *reconciler) report(ctx context.Context, k *kubernikusv1.Kluster, s *state, done passed) {
	orphans := len(done.result.Waiting) + len(done.result.Spared)
	if done.err == nil || orphans > 0 {
		r.meters.orphans.Add(float64(orphans - s.orphans))
		s.orphans, s.routes = orphans, statusOf(slices.Concat(done.result.Spared, done.result.Waiting))
	}
	r.meters.count(done)
	if removed := done.result.Removed; len(removed) > 0 {
		log.FromContext(ctx).Info("Removed routes that led to no server", "router", k.RouterID(), "routes", names(removed))
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventRemoved, actionCollect, "%s",
			kluster.Bounded(fmt.Sprintf("removed %d routes that led to no server: %s", len(removed), names(removed))))
	}
	s.condition = new(Condition(done.result, done.err))
}

func current(k *kubernikusv1.Kluster) *metav1.Condition {
	return meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionRoutesClean)
}

// announce reports a condition whose reason is new, if a user has to know.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, condition *metav1.Condition) {
	if last := current(k); condition == nil || last != nil && last.Status == condition.Status && last.Reason == condition.Reason {
		return
	}
	log.FromContext(ctx).Info("The state of a router changed", "router", k.RouterID(), "status", condition.Status, "reason", condition.Reason,
		"message", condition.Message)
	level := corev1.EventTypeWarning
	switch condition.Reason {
	case ReasonClean, ReasonConfirming, ReasonPaused, ReasonDisabled, ReasonRouterUnknown:
		return
	case ReasonDryRun:
		level = corev1.EventTypeNormal
	}
	r.recorder.Eventf(k, nil, level, condition.Reason, actionCollect, "%s", kluster.Bounded(condition.Message))
}
