// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TranslationSummary returns the summary of a Translation: the backend has its resources. The pusher reports itself when a
// user has to act, by the condition Stalled of the same generation.
func TranslationSummary(t *midonetv1.Translation) Summary {
	synced := aspect{kind: midonetv1.ConditionSynced, required: true}
	if c := stalledByPusher(t); c != nil {
		synced.stalled = []string{c.Reason}
	}
	return summarize(view{
		generation: t.Generation, observed: t.Status.ObservedGeneration, conditions: t.Status.Conditions,
		terminating: !t.DeletionTimestamp.IsZero(), ready: "the backend has all resources",
	}, []aspect{synced})
}

// SetTranslation writes the summary of a Translation into its conditions. Stalled is the pusher's as long as it applies to
// this generation.
func SetTranslation(t, old *midonetv1.Translation, now time.Time) {
	s := TranslationSummary(t)
	types, wanted := summaryTypes(), s.list(t.Generation, now)
	if stalledByPusher(t) != nil {
		types = []string{Ready, Reconciling}
		if s.Stalled {
			wanted = wanted[:1]
		}
	}
	t.Status.Conditions = replace(t.Status.Conditions, old.Status.Conditions, types, wanted)
}

// stalledByPusher returns the condition Stalled of the current generation, nil when there is none.
func stalledByPusher(t *midonetv1.Translation) *metav1.Condition {
	c := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionStalled)
	if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != t.Generation || t.Status.ObservedGeneration != t.Generation {
		return nil
	}
	return c
}
