// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package conditions summarizes the conditions of an object as Ready, Reconciling and Stalled, by the rules of kstatus,
// which Flux, Helm and cli-utils wait by. The API server does so in every write of an object: the summary is never older
// than what it summarizes, several controllers that each report a part need not agree on it, and no write is made for it.
package conditions

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of a summary. Reconciling and Stalled exist only while they are True.
const (
	// Ready is True when the object is as its spec requires, Unknown until its generation has been reconciled.
	Ready = "Ready"
	// Reconciling is True while the object gets Ready without an action of a user.
	Reconciling = "Reconciling"
	// Stalled is True when it does not get Ready before a user acts.
	Stalled = "Stalled"
)

// IsSummary reports whether a condition of this type only repeats what others report.
func IsSummary(kind string) bool { return slices.Contains(summaryTypes(), kind) }

func summaryTypes() []string { return []string{Ready, Reconciling, Stalled} }

// Reasons of a summary. A problem has the reason of the condition that reports it.
const (
	// ReasonReady is the reason of Ready when it is True.
	ReasonReady = "Ready"
	// ReasonProgressing means that the generation has not been reconciled yet.
	ReasonProgressing = "Progressing"
	// ReasonTerminating means that the object is being deleted.
	ReasonTerminating = "Terminating"
	// ReasonPaused means that an annotation stops the controller.
	ReasonPaused = "Paused"
)

// MessageTerminating is that of an object that is being deleted, whose controller reports nothing about it.
const MessageTerminating = "the object is being deleted"

// Summary is the state of an object according to all its conditions.
type Summary struct {
	// Ready is the status of the condition Ready.
	Ready metav1.ConditionStatus
	// Stalled is true when a user has to act.
	Stalled bool
	// Reason and Message are those of all conditions of the summary.
	Reason, Message string
}

// Reconciling reports whether the object gets ready on its own.
func (s Summary) Reconciling() bool { return s.Ready != metav1.ConditionTrue && !s.Stalled }

// aspect is one condition that a summary depends on. One that is True is good, with the exceptions that follow; what has
// none of their reasons is expected to become good without an action of a user.
type aspect struct {
	// kind is the type of the condition.
	kind string
	// required: until it is reported for this generation, it is not known whether the object is ready.
	required bool
	// anyGeneration: a report for an earlier generation is as good, since its writer does not read the spec.
	anyGeneration bool
	// stalled are the reasons for which a user has to act, pending those that are temporary.
	stalled, pending []string
	// fine are the reasons with which the object is ready although the condition is not True.
	fine []string
}

// view is an object as far as a summary depends on it.
type view struct {
	generation, observed int64
	conditions           []metav1.Condition
	// paused is the message of a paused object, "" for others.
	paused string
	// terminating: the object is being deleted.
	terminating bool
	// ready is the message of Ready when it is True.
	ready string
}

// summarize decides about an object by the aspects of its kind, of which the first one that is not good is reported, and
// one that a user has to repair before all others.
func summarize(v view, aspects []aspect) Summary {
	worst, missing := v.judge(aspects)
	switch {
	case v.terminating:
		s := Summary{Ready: metav1.ConditionFalse, Reason: ReasonTerminating, Message: MessageTerminating}
		if worst != nil {
			s.Message, s.Stalled = worst.Message, worst.Stalled
		}
		return s
	case v.paused != "" && (v.observed != v.generation || missing != ""):
		return Summary{Ready: metav1.ConditionUnknown, Stalled: true, Reason: ReasonPaused, Message: v.paused}
	case v.observed != v.generation:
		s := Summary{Ready: metav1.ConditionUnknown, Reason: ReasonProgressing, Message: fmt.Sprintf("generation %d has not been reconciled yet", v.generation)}
		if worst != nil && v.observed == 0 { // no earlier generation can have had the problem
			s.Message += ": " + worst.Message
		}
		return s
	case missing != "":
		return Summary{Ready: metav1.ConditionUnknown, Reason: ReasonProgressing,
			Message: fmt.Sprintf("condition %s has not been reported for generation %d yet", missing, v.generation)}
	case worst != nil:
		return *worst
	default:
		return Summary{Ready: metav1.ConditionTrue, Reason: ReasonReady, Message: v.ready}
	}
}

// judge returns the problem that matters most, nil when there is none, and the first type of condition that is missing.
func (v view) judge(aspects []aspect) (worst *Summary, missing string) {
	for _, a := range aspects {
		c := meta.FindStatusCondition(v.conditions, a.kind)
		if c == nil || !a.anyGeneration && c.ObservedGeneration != v.generation {
			if a.required && missing == "" {
				missing = a.kind
			}
			continue
		}
		stalled := slices.Contains(a.stalled, c.Reason)
		good := !stalled && !slices.Contains(a.pending, c.Reason) && (c.Status == metav1.ConditionTrue || slices.Contains(a.fine, c.Reason))
		if good || worst != nil && (worst.Stalled || !stalled) {
			continue
		}
		worst = &Summary{Ready: metav1.ConditionFalse, Stalled: stalled, Reason: c.Reason, Message: c.Message}
		if worst.Reason == "" { // which a condition of a summary must not have
			worst.Reason = a.kind
		}
	}
	return worst, missing
}

func (s Summary) list(generation int64, now time.Time) []metav1.Condition {
	c := metav1.Condition{
		Type: Ready, Status: s.Ready, Reason: s.Reason, Message: s.Message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	}
	list := []metav1.Condition{c}
	c.Status = metav1.ConditionTrue
	switch {
	case s.Reconciling():
		c.Type = Reconciling
		list = append(list, c)
	case s.Stalled:
		c.Type = Stalled
		list = append(list, c)
	}
	return list
}

// replace returns conditions in which those of the given types are the wanted ones. Times change with the status alone, compared
// with the conditions before the write: a client may have left the summary out, or changed it. The lists that are given, which
// may belong to cached objects, do not change.
func replace(conditions, before []metav1.Condition, types []string, wanted []metav1.Condition) []metav1.Condition {
	for i := range wanted {
		if last := meta.FindStatusCondition(before, wanted[i].Type); last != nil && last.Status == wanted[i].Status {
			wanted[i].LastTransitionTime = last.LastTransitionTime
		}
	}
	next := make([]metav1.Condition, 0, len(conditions)+len(wanted))
	written := map[string]bool{}
	for i := range conditions {
		c := conditions[i]
		if slices.Contains(types, c.Type) {
			at := slices.IndexFunc(wanted, func(w metav1.Condition) bool { return w.Type == c.Type })
			if at < 0 || written[c.Type] {
				continue
			}
			written[c.Type] = true
			c = wanted[at]
		}
		next = append(next, c)
	}
	for _, w := range wanted {
		if !written[w.Type] {
			next = append(next, w)
		}
	}
	return next
}
