// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// messageSynced is the message of the condition Synced when it is true.
	messageSynced = "The backend has all resources."
	// maxMessage limits the message of a condition and of an event, in bytes, and maxResourceMessage that of a resource, of which a
	// Translation can have thousands.
	maxMessage         = 1000
	maxResourceMessage = 300
)

// nextStatus returns the status of a Translation after a push. A time changes only together with what it refers to, so a push
// without changes returns an equal status.
func nextStatus(translation *midonetv1.Translation, outcome engine.Outcome, now time.Time) midonetv1.TranslationStatus {
	before := &translation.Status
	next := midonetv1.TranslationStatus{
		ObservedGeneration: translation.Generation,
		Conditions:         slices.Clone(before.Conditions),
		Resources:          nextResources(before.Resources, outcome.Pushed, now),
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	condition := metav1.Condition{
		Type: midonetv1.ConditionSynced, Status: metav1.ConditionFalse, Reason: string(outcome.Reason),
		Message: kit.Bounded(outcome.Message, maxMessage), ObservedGeneration: translation.Generation, LastTransitionTime: at,
	}
	if outcome.Reason == engine.ReasonSynced {
		condition.Status, condition.Message = metav1.ConditionTrue, messageSynced
	}
	meta.SetStatusCondition(&next.Conditions, condition)
	if outcome.Stalled {
		condition.Type, condition.Status = midonetv1.ConditionStalled, metav1.ConditionTrue
		meta.SetStatusCondition(&next.Conditions, condition)
	} else {
		meta.RemoveStatusCondition(&next.Conditions, midonetv1.ConditionStalled)
	}
	return next
}

// nextResources returns the states of the resources. An unchanged state keeps its time.
func nextResources(before []midonetv1.BackendResourceStatus, pushed []engine.Pushed, now time.Time) []midonetv1.BackendResourceStatus {
	if len(pushed) == 0 {
		return nil
	}
	type name struct {
		kind, parent, id string
		state            midonetv1.BackendResourceState
	}
	since := make(map[name]*metav1.Time, len(before))
	for _, s := range before {
		since[name{s.Kind, s.Parent, s.ID, s.State}] = s.LastTransitionTime
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	next := make([]midonetv1.BackendResourceStatus, len(pushed))
	for i, p := range pushed {
		state := midonetv1.BackendResourceState(p.State)
		next[i] = midonetv1.BackendResourceStatus{
			Kind: p.Kind, Parent: p.Parent, ID: p.ID, State: state, BodyHash: p.Hash, HTTPStatus: int32(p.Code),
			Message: kit.Bounded(p.Message, maxResourceMessage), LastTransitionTime: cmp.Or(since[name{p.Kind, p.Parent, p.ID, state}], &at),
		}
	}
	return next
}

// Actions of the events on a Translation. The reason is that of the condition.
const (
	actionPush         = "Push"
	actionCompareDrift = "Compare"
)

// reasonFenced is the reason of the event that this process is the leader, and is not allowed to write.
const reasonFenced = "Fenced"

// announce sends events for what the previous status did not report, and logs a plan, which causes no other output.
func (r *reconciler) announce(ctx context.Context, before, after *midonetv1.Translation, outcome engine.Outcome) {
	message := kit.Bounded(outcome.Message, maxMessage)
	if isStalled(after) && !isStalled(before) {
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, string(outcome.Reason), actionPush, "%s", message)
	}
	if drifted := firstDrifted(after); drifted != nil && firstDrifted(before) == nil {
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, string(engine.ReasonDrifted), actionCompareDrift, "%s",
			kit.Bounded(drifted.Kind+" "+drifted.ID+": "+drifted.Message, maxMessage))
	}
	if outcome.Reason == engine.ReasonPlanned {
		log.FromContext(ctx).Info("Planned", "translation", client.ObjectKeyFromObject(after), "plan", message)
	}
}

// find reports why the push of a Translation was not allowed; "" if it was, or if there is no Translation any more. The status does not
// report it: that is written by the process that may push it, which this one would compete with.
func (r *reconciler) find(ctx context.Context, name types.NamespacedName, kept *packed.Translation, fence string) {
	findings, changed := r.memory.pushed(name, fence)
	if !changed {
		return
	}
	instrument.Found(ctx, ControllerName, findings...)
	if fence != "" {
		r.recorder.Eventf(kept.Unpack(), nil, corev1.EventTypeWarning, reasonFenced, actionPush, "%s", kit.Bounded(fence, maxMessage))
		log.FromContext(ctx).Info("The network backend is not written", "reason", fence)
	}
}

func isStalled(translation *midonetv1.Translation) bool {
	return meta.IsStatusConditionTrue(translation.Status.Conditions, midonetv1.ConditionStalled)
}

// firstDrifted returns the first resource that another client changed, or nil.
func firstDrifted(translation *midonetv1.Translation) *midonetv1.BackendResourceStatus {
	for i := range translation.Status.Resources {
		if s := &translation.Status.Resources[i]; s.State == midonetv1.BackendResourceDrifted {
			return s
		}
	}
	return nil
}
