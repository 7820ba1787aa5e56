// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const projectPaused = "Paused"

// ProjectSummary returns the summary of a Project: it has its namespace, with the roles of its members. That it is unused
// or could be deleted does not matter here.
func ProjectSummary(p *gardenerv1beta1.Project) Summary {
	v := view{
		generation: p.Generation, observed: p.Status.ObservedGeneration,
		conditions:  projectConditions(p),
		terminating: !p.DeletionTimestamp.IsZero(), ready: "namespace and roles are reconciled",
	}
	if c := meta.FindStatusCondition(v.conditions, projectPaused); c != nil {
		v.paused = c.Message
	}
	if v.terminating {
		return summarize(v, projectDeletionAspects())
	}
	return summarize(v, projectAspects())
}

// projectAspects returns the conditions that a Project is ready by.
func projectAspects() []aspect {
	return []aspect{
		{
			kind: string(gardenerv1beta1.ProjectNamespaceReady), required: true,
			stalled: []string{"NamespaceNotAllowed", "NamespaceNotLabelled", "NamespaceInUse"},
		},
		{kind: string(gardenerv1beta1.ProjectRBACReady), required: true, stalled: []string{"AuthorizationDiffers"}},
	}
}

// projectDeletionAspects returns the condition that reports what a deletion waits for.
func projectDeletionAspects() []aspect {
	return []aspect{{kind: string(gardenerv1beta1.ProjectDeletable), stalled: []string{"NamespaceNotEmpty"}}}
}

// SetProject writes the summary of a Project into its conditions.
func SetProject(p, old *gardenerv1beta1.Project, now time.Time) {
	wanted := ProjectSummary(p).list(p.Generation, now)
	next := make([]gardenerv1beta1.Condition, 0, len(p.Status.Conditions)+len(wanted))
	for i := range p.Status.Conditions {
		c := p.Status.Conditions[i]
		if !IsSummary(string(c.Type)) {
			next = append(next, c)
			continue
		}
		if at := slices.IndexFunc(wanted, func(w metav1.Condition) bool { return w.Type == string(c.Type) }); at >= 0 {
			next = append(next, projectCondition(wanted[at], old))
			wanted = slices.Delete(wanted, at, at+1)
		}
	}
	for _, w := range wanted {
		next = append(next, projectCondition(w, old))
	}
	p.Status.Conditions = next
}

// projectCondition returns a condition in Gardener's form, with the times that it had before where those stay.
func projectCondition(w metav1.Condition, old *gardenerv1beta1.Project) gardenerv1beta1.Condition {
	c := gardenerv1beta1.Condition{
		Type: gardenerv1beta1.ConditionType(w.Type), Status: gardenerv1beta1.ConditionStatus(w.Status), Reason: w.Reason, Message: w.Message,
		LastTransitionTime: w.LastTransitionTime, LastUpdateTime: w.LastTransitionTime,
	}
	return Following(Find(old.Status.Conditions, c.Type), c)
}

// Find returns the condition of a type, nil if there is none.
func Find(conditions []gardenerv1beta1.Condition, kind gardenerv1beta1.ConditionType) *gardenerv1beta1.Condition {
	i := slices.IndexFunc(conditions, func(c gardenerv1beta1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// Following returns a condition as it follows an earlier one, which may be nil: the time of the transition stays with the status, and that
// of the update with the reason and the message. Codes belong to other controllers, and are neither written nor removed.
func Following(before *gardenerv1beta1.Condition, c gardenerv1beta1.Condition) gardenerv1beta1.Condition {
	if before == nil {
		return c
	}
	c.Codes = before.Codes
	if before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
		if before.Reason == c.Reason && before.Message == c.Message {
			c.LastUpdateTime = before.LastUpdateTime
		}
	}
	return c
}
