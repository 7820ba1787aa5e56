// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
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

// stateName is a resource in a state, as identified by a status.
type stateName struct {
	kind, parent, id string
	state            midonetv1.BackendResourceState
}

func nameOf(s *midonetv1.BackendResourceStatus) stateName {
	return stateName{s.Kind, s.Parent, s.ID, s.State}
}

// nextResources returns the states of the resources. An unchanged state keeps its time.
func nextResources(before []midonetv1.BackendResourceStatus, pushed []engine.Pushed, now time.Time) []midonetv1.BackendResourceStatus {
	if len(pushed) == 0 {
		return nil
	}
	since := make(map[stateName]*metav1.Time, len(before))
	for i := range before {
		since[nameOf(&before[i])] = before[i].LastTransitionTime
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	next := make([]midonetv1.BackendResourceStatus, len(pushed))
	for i, p := range pushed {
		next[i] = midonetv1.BackendResourceStatus{
			Kind: p.Kind, Parent: p.Parent, ID: p.ID, State: midonetv1.BackendResourceState(p.State),
			BodyHash: p.Hash, HTTPStatus: int32(p.Code), Message: kit.Bounded(p.Message, maxResourceMessage),
		}
		if next[i].LastTransitionTime = since[nameOf(&next[i])]; next[i].LastTransitionTime == nil {
			next[i].LastTransitionTime = &at
		}
	}
	return next
}
