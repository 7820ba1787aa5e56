// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"time"
)

// namedResources is how many resources the message of an Outcome names.
const namedResources = 3

// verdict is what came of one resource in one push.
type verdict struct {
	state  State
	reason Reason
	// key names the resource in the Outcome's message; empty when the message does automatically.
	key     string
	code    int
	message string
	// retry is when to push again; 0: something wakes the Claim, or nothing has to.
	retry time.Duration
	// coming: it waits for nothing but what other live Claims bring.
	coming bool
	// away: nothing is left of it.
	away bool
}

// gravity orders the reasons: the Outcome has that of the gravest.
func gravity(r Reason) int {
	switch r {
	case ReasonInvalid:
		return 8
	case ReasonUnknownKind:
		return 7
	case ReasonConflict:
		return 6
	case ReasonRefused:
		return 5
	case ReasonRetrying:
		return 4
	case ReasonDrifted:
		return 3
	case ReasonWaiting:
		return 2
	case ReasonPlanned:
		return 1
	default:
		return 0
	}
}

// stalls reports whether a user must act.
func stalls(r Reason) bool {
	return r == ReasonInvalid || r == ReasonUnknownKind || r == ReasonConflict || r == ReasonRefused
}

// summarize joins the outcome of each resource into an Outcome without its Pushed and Deleted. Age is how long ago the Claim's
// content was first pushed.
func summarize(verdicts []verdict, age time.Duration) Outcome {
	o := Outcome{Reason: ReasonSynced}
	coming := 0
	for _, v := range verdicts {
		if gravity(v.reason) > gravity(o.Reason) {
			o.Reason = v.reason
		}
		o.Stalled = o.Stalled || stalls(v.reason)
		if v.retry > 0 && (o.RetryAfter == 0 || v.retry < o.RetryAfter) {
			o.RetryAfter = v.retry
		}
		if v.coming {
			coming++
		}
	}
	o.Message = messageFor(verdicts, o.Reason)
	if o.Reason == ReasonWaiting && coming > 0 && age < settleTime && allComing(verdicts) {
		o.Settling = true
		if rest := settleTime - age; o.RetryAfter == 0 || rest < o.RetryAfter {
			o.RetryAfter = rest
		}
	}
	return o
}

// allComing reports whether nothing but what other Claims bring is missing.
func allComing(verdicts []verdict) bool {
	for _, v := range verdicts {
		if v.reason != ReasonSynced && !v.coming {
			return false
		}
	}
	return true
}

// messageFor names the first resources that have a reason.
func messageFor(verdicts []verdict, reason Reason) string {
	if reason == ReasonSynced {
		return ""
	}
	var parts []string
	more := 0
	for _, v := range verdicts {
		switch {
		case v.reason != reason:
		case len(parts) == namedResources:
			more++
		case v.key == "":
			parts = append(parts, v.message)
		default:
			parts = append(parts, v.key+": "+v.message)
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}
