// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// write writes the planned status if it differs from the current one, and returns how long to wait if the previous write was too
// recent.
func (b *backends) write(ctx context.Context, backend *gimbalv1.DiscoveryBackend, next plan) (time.Duration, error) {
	own, err := status.OwnErrors(backend, drain.Manager)
	if err != nil {
		return 0, err
	}
	now := b.clock.Now()
	reported := []metav1.Condition{next.condition}
	if next.automatic != nil {
		reported = append(reported, *next.automatic)
	}
	if next.unique != nil {
		reported = append(reported, *next.unique)
	}
	conditions, changed := status.Conditions(backend, reported, now)
	changed = changed || next.automatic == nil && automaticOf(backend) != nil || next.unique == nil && uniqueOf(backend) != nil
	errors, otherErrors := status.Errors(own, next.errors, now)
	if !changed && !otherErrors && backend.Status.EndpointsDrained == next.withhold && equality.Semantic.DeepEqual(backend.Status.Routes, &next.routes) &&
		equality.Semantic.DeepEqual(backend.Status.Ramp, next.ramp) {
		return 0, nil
	}
	name := client.ObjectKeyFromObject(backend)
	if wait := b.written.wait(name, now); wait > 0 {
		return wait, nil
	}
	applied := status.Apply(backend, conditions, errors)
	applied.Status.WithRoutes(routesApplied(&next.routes))
	if ramp := next.ramp; ramp != nil {
		applied.Status.WithRamp(gimbalapply.RampStatus().WithPercent(ramp.Percent).WithFrom(ramp.From).WithTo(ramp.To).WithStartTime(*ramp.StartTime))
	}
	if next.withhold {
		applied.Status.WithEndpointsDrained(true)
	}
	err = b.client.Status().Apply(ctx, applied, client.FieldOwner(drain.Manager), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("apply the status of DiscoveryBackend %s: %w", name, err)
	}
	version := ""
	if applied.ResourceVersion != nil { // the response; a backend that has been deleted has none
		version = *applied.ResourceVersion
	}
	b.written.note(name, version, now)
	b.announce(ctx, backend, next.condition)
	b.announceStep(backend, next.ramp)
	b.announceAutomatic(ctx, backend, next.automatic)
	return 0, nil
}

func routesApplied(routes *gimbalv1.RouteStatus) *gimbalapply.RouteStatusApplyConfiguration {
	applied := gimbalapply.RouteStatus().WithMatching(routes.Matching).WithDrained(routes.Drained)
	if names := routes.WithoutAlternative; names != nil {
		applied.WithWithoutAlternative(gimbalapply.RouteNames().WithNames(names.Names...).WithCount(names.Count))
	}
	if routes.Recorded != nil {
		applied.WithRecorded(*routes.Recorded)
	}
	if routes.DrainedTime != nil {
		applied.WithDrainedTime(*routes.DrainedTime)
	}
	return applied
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
		condition: status.Condition(backend, gimbalv1.ConditionDrained, metav1.ConditionUnknown, reasonUnknown, "not all routes are known: "+problem.Error()),
		withhold:  backend.Status.EndpointsDrained,
		errors:    slices.Clone(own),
		ramp:      backend.Status.Ramp,
		automatic: automaticOf(backend),
		unique:    uniqueOf(backend),
	}
	if backend.Status.Routes != nil {
		next.routes = *backend.Status.Routes
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
	if c.Reason == reasonRefused || c.Reason == reasonUnknown || c.Reason == reasonStillReceiving || c.Reason == gimbalv1.ReasonSameCluster {
		kind = corev1.EventTypeWarning
	}
	b.recorder.Eventf(backend, nil, kind, c.Reason, "Maintain", "%s", c.Message)
}

// announceStep reports a step of a ramp.
func (b *backends) announceStep(backend *gimbalv1.DiscoveryBackend, next *gimbalv1.RampStatus) {
	before, after := percentOf(backend), int32(whole)
	if next != nil {
		after = next.Percent
	}
	if (next != nil || backend.Status.Ramp != nil) && before != after {
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventTrafficMoved, "Maintain", "the backend gets %d %% of its share of the traffic, instead of %d %%", after, before)
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
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventAutomaticEnded, "Maintain", "its owner decides now: cluster.clusterStatus or cluster.maintenance.automatic was changed")
	case was && next.Status != metav1.ConditionTrue:
		b.recorder.Eventf(backend, nil, corev1.EventTypeNormal, eventAutomaticEnded, "Maintain", "traffic returns: %s", next.Message)
	case next != nil && next.Reason == reasonHeld && (last == nil || last.Reason != reasonHeld):
		b.recorder.Eventf(backend, nil, corev1.EventTypeWarning, eventAutomaticHeld, "Maintain", "%s", next.Message)
	default:
		return
	}
	log.FromContext(ctx).Info("The automatic maintenance of a backend changed", "backend", backend.Name, "condition", next)
}
