// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// whole is the share of a backend that is not drained, in percent.
	whole = 100
	// steps is in how many steps the whole share is moved.
	steps = 10
	// stepPercent is what a step moves.
	stepPercent = whole / steps
)

// shareOf is which part of its requests a backend is to get, in percent. recorded reports whether a route has a record of
// its weights. It depends on nothing but what is stored, so that a restart changes nothing.
func shareOf(backend *gimbalv1.DiscoveryBackend, phase phase, recorded bool) int {
	if ramp := backend.Status.Ramp; ramp != nil {
		return int(ramp.Percent)
	}
	switch phase {
	case phaseDraining:
		if drainDuration(backend) > 0 && !recorded {
			return whole // its first step is still to be stored
		}
		return 0
	case phaseHeld:
		if recorded {
			return 0
		}
	}
	return whole
}

// nextRamp is how far the traffic of a backend is to be moved now: a pure function of the stored state and the time. It is nil
// when the backend gets its whole share, or is drained in one step.
func nextRamp(backend *gimbalv1.DiscoveryBackend, phase phase, now time.Time) *gimbalv1.RampStatus {
	last, to := backend.Status.Ramp, int32(whole)
	switch phase {
	case phaseHeld:
		return last // nothing moves back to endpoints that are withheld
	case phaseDraining:
		to = 0
	}
	var next gimbalv1.RampStatus
	switch {
	case last != nil && last.To == to:
		next = *last
	case last != nil: // it reverses at the current step
		next = rampFrom(last.Percent, to, now)
	case to == whole || drainDuration(backend) == 0:
		return nil
	case isUntouched(backend):
		next = rampFrom(whole, to, now)
	default: // it was drained before it had a duration
		next = rampFrom(0, to, now)
	}
	next.Percent = percentAt(&next, drainDuration(backend), now)
	if next.Percent == whole && to == whole {
		return nil
	}
	return &next
}

func rampFrom(from, to int32, now time.Time) gimbalv1.RampStatus {
	return gimbalv1.RampStatus{Percent: from, From: from, To: to, StartTime: new(metav1.NewTime(now).Rfc3339Copy())}
}

// isUntouched reports whether maintenance has not begun to write routes of a backend.
func isUntouched(backend *gimbalv1.DiscoveryBackend) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return c == nil || c.Reason == reasonEnabled
}

// percentAt returns the share after the steps that are due.
func percentAt(ramp *gimbalv1.RampStatus, duration time.Duration, now time.Time) int32 {
	if duration <= 0 || ramp.StartTime == nil {
		return ramp.To
	}
	moved := int32(min(max(now.Sub(ramp.StartTime.Time), 0)/stepDuration(duration), steps)) * stepPercent
	if ramp.To < ramp.From {
		return max(ramp.From-moved, ramp.To)
	}
	return min(ramp.From+moved, ramp.To)
}

// nextStep is when the next step is due; zero when there is none.
func nextStep(ramp *gimbalv1.RampStatus, duration time.Duration) time.Time {
	if ramp == nil || ramp.Percent == ramp.To || ramp.StartTime == nil || duration <= 0 {
		return time.Time{}
	}
	done := max(ramp.Percent-ramp.From, ramp.From-ramp.Percent) / stepPercent
	return ramp.StartTime.Add(time.Duration(done+1) * stepDuration(duration))
}

func stepDuration(duration time.Duration) time.Duration { return max(duration/steps, 1) }

func drainDuration(backend *gimbalv1.DiscoveryBackend) time.Duration {
	if backend.Cluster.DrainDuration == nil {
		return 0
	}
	return backend.Cluster.DrainDuration.Duration
}
