// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// Reasons of events, beside those of the condition.
const (
	// eventTrafficMoved: traffic moved by a step of a ramp.
	eventTrafficMoved = "TrafficMoved"
	// eventAutomaticBegun and eventAutomaticEnded: traffic is moved away because the backend is not reachable, and returns.
	eventAutomaticBegun = "AutomaticMaintenanceBegun"
	eventAutomaticEnded = "AutomaticMaintenanceEnded"
	// eventAutomaticHeld: the traffic of a backend that is not reachable stays.
	eventAutomaticHeld = "AutomaticMaintenanceHeld"
	// eventWithoutEndpoints: a route sends requests to a Service without a ready endpoint.
	eventWithoutEndpoints = "WithoutEndpoints"
	// eventServiceReturned: a Service that failed over gets its requests again, or a route changed.
	eventServiceReturned = "ServiceReturned"
)

// report remembers, counts and logs a rewrite of a route, which concerns backends.
func (r *routes) report(
	ctx context.Context, key routeKey, object *unstructured.Unstructured, decision drain.Decision, concerned []string,
) {
	r.cluster.memory.rewrote(key, object, decision.Lost, concerned, r.clock.Now())
	r.meters.forced.Add(float64(decision.Forced))
	log.FromContext(ctx).V(1).Info("Rewrote a route", "route", r.describe(key), "forcedBack", decision.Forced)
	if len(decision.Lost) > 0 {
		log.FromContext(ctx).Info("The saved weights of a route were lost: its traffic is spread evenly",
			"route", r.describe(key), "rules", decision.Lost)
	}
}

// reportUnknown writes the status of a backend whose routes are unknown. A drained backend remains drained; otherwise Drained is Unknown.
func (b *backends) reportUnknown(ctx context.Context, backend *gimbalv1.DiscoveryBackend, problem error) (reconcile.Result, error) {
	last := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	if last == nil || last.ObservedGeneration == backend.Generation && last.Status != metav1.ConditionUnknown {
		return unknown(ctx, problem), nil // it was just created, or it is unchanged
	}
	own, err := status.OwnErrors(backend, drain.Manager)
	if err != nil {
		return reconcile.Result{}, err
	}
	next := plan{
		condition: status.Condition(backend, gimbalv1.ConditionDrained, metav1.ConditionUnknown, reasonUnknown,
			"not all routes are known: "+problem.Error()),
		routes:    ptr.Deref(backend.Status.Routes, gimbalv1.RouteStatus{}),
		withhold:  backend.Status.EndpointsDrained,
		errors:    slices.Clone(own),
		ramp:      backend.Status.Ramp,
		automatic: automaticOf(backend),
		unique:    uniqueOf(backend),
	}
	if _, err := b.write(ctx, backend, next); err != nil {
		return reconcile.Result{}, err
	}
	return unknown(ctx, problem), nil
}

// announce sends an event for each change of a backend, once.
func (b *backends) announce(ctx context.Context, backend *gimbalv1.DiscoveryBackend, c metav1.Condition) {
	last := meta.FindStatusCondition(backend.Status.Conditions, c.Type)
	if last == nil && c.Reason == reasonEnabled || last != nil && last.Status == c.Status && last.Reason == c.Reason {
		return
	}
	log.FromContext(ctx).Info("The maintenance of a backend continued", "backend", backend.Name, "reason", c.Reason, "message", c.Message)
	kind := corev1.EventTypeNormal
	switch c.Reason {
	case reasonRefused, reasonUnknown, reasonStillReceiving, gimbalv1.ReasonSameCluster:
		kind = corev1.EventTypeWarning
	}
	b.recorder.Eventf(backend, nil, kind, c.Reason, "Maintain", "%s", c.Message)
}

func (b *backends) announceStep(backend *gimbalv1.DiscoveryBackend, next *gimbalv1.RampStatus) {
	before, after := percentOf(backend), int32(whole)
	if next != nil {
		after = next.Percent
	}
	if (next != nil || backend.Status.Ramp != nil) && before != after {
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventTrafficMoved, "Maintain",
			"the backend gets %d %% of its share of the traffic, instead of %d %%", after, before)
	}
}

// announceFailing names the routes that began to send requests to a Service without a ready endpoint.
func (b *backends) announceFailing(backend *gimbalv1.DiscoveryBackend, failing []problem) {
	before := ptr.Deref(ptr.Deref(backend.Status.Routes, gimbalv1.RouteStatus{}).WithoutEndpoints, gimbalv1.RouteNames{})
	var news []string
	for _, p := range failing[:min(len(failing), gimbalv1.MaxRouteNames)] {
		if !slices.Contains(before.Names, p.route) {
			news = append(news, p.route+" sends requests to "+p.message)
		}
	}
	if len(news) > 0 {
		b.recorder.Eventf(backend, nil, corev1.EventTypeWarning, eventWithoutEndpoints, "Maintain",
			"no endpoint is ready, so these requests fail: %s", status.Bounded(names(news)))
	}
}

// announceFailover names the routes whose requests for a Service begin to go to other receivers, and those whose requests return.
func (b *backends) announceFailover(backend *gimbalv1.DiscoveryBackend, before, after []gimbalv1.DiscoveryError) {
	// changed returns the messages that are among some entries and not among others.
	changed := func(some, others []gimbalv1.DiscoveryError) (messages []string) {
		for _, e := range some {
			if e.Type == gimbalv1.ErrorServiceFailedOver && !slices.ContainsFunc(others, func(o gimbalv1.DiscoveryError) bool {
				return o.Type == e.Type && o.Message == e.Message
			}) {
				messages = append(messages, e.Message)
			}
		}
		return messages
	}
	if news := changed(after, before); len(news) > 0 {
		b.recorder.Eventf(backend, nil, corev1.EventTypeWarning, gimbalv1.ErrorServiceFailedOver, "Maintain", "%s", status.Bounded(names(news)))
	}
	if gone := changed(before, after); len(gone) > 0 {
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventServiceReturned, "Maintain", "no longer: %s", status.Bounded(names(gone)))
	}
}

// automaticOf returns the condition AutomaticMaintenance that a backend has, nil for none.
func automaticOf(backend *gimbalv1.DiscoveryBackend) *metav1.Condition {
	return meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance)
}

// uniqueOf returns the condition ClusterUnique that a backend has, nil for none.
func uniqueOf(backend *gimbalv1.DiscoveryBackend) *metav1.Condition {
	return meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionClusterUnique)
}

// announceAutomatic reports that automatic maintenance begins, ends or is held, once for each change.
func (b *backends) announceAutomatic(ctx context.Context, backend *gimbalv1.DiscoveryBackend, next *metav1.Condition) {
	last := automaticOf(backend)
	was := last != nil && last.Status == metav1.ConditionTrue
	begins := next != nil && next.Status == metav1.ConditionTrue && !was
	switch {
	case begins:
		b.recorder.Eventf(backend, nil, corev1.EventTypeWarning, eventAutomaticBegun, "Maintain", "traffic is moved away: %s", next.Message)
	case was && next == nil:
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventAutomaticEnded, "Maintain",
			"its owner decides now: cluster.clusterStatus or cluster.maintenance.automatic was changed")
	case was && next.Status != metav1.ConditionTrue:
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventAutomaticEnded, "Maintain", "traffic returns: %s", next.Message)
	case next != nil && next.Reason == reasonHeld && (last == nil || last.Reason != reasonHeld):
		b.recorder.Eventf(backend, nil, corev1.EventTypeWarning, eventAutomaticHeld, "Maintain", "%s", next.Message)
	default:
		return
	}
	log.FromContext(ctx).Info("The automatic maintenance of a backend changed", "backend", backend.Name, "condition", next)
}
