// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// whole is the share of a backend that is not drained, in percent.
	whole = 100
	// stepCount is in how many steps the whole share is moved.
	stepCount = 10
	// stepPercent is what a step moves.
	stepPercent = whole / stepCount
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

// percentOf returns the share that the status of a backend has, 100 when it has none.
func percentOf(backend *gimbalv1.DiscoveryBackend) int32 {
	if backend.Status.Ramp == nil {
		return whole
	}
	return backend.Status.Ramp.Percent
}

// nextRamp is how far the traffic of a backend is to be moved now, and since when that step counts: a pure function of the stored
// state, the time, and since when this process observes the stored step. It is nil when the backend gets its whole share, or is drained
// in one step.
func nextRamp(backend *gimbalv1.DiscoveryBackend, phase phase, since, now time.Time) (*gimbalv1.RampStatus, time.Time) {
	last, to := backend.Status.Ramp, int32(whole)
	switch phase {
	case phaseHeld:
		return last, now // nothing moves back to endpoints that are withheld
	case phaseDraining:
		to = 0
	}
	next := gimbalv1.RampStatus{To: to, StartTime: new(metav1.NewTime(now).Rfc3339Copy())}
	switch {
	case last != nil && last.To == to:
		next = *last
	case last != nil: // it reverses at the current step
		next.Percent, since = last.Percent, now
	case to == whole || drainDuration(backend) == 0:
		return nil, now
	case isUntouched(backend):
		next.Percent, since = whole, now
	default: // it was drained before it had a duration
		since = now
	}
	if last == nil || last.To != to {
		next.From = next.Percent
	}
	next.Percent, since = percentAfter(&next, drainDuration(backend), since, now)
	if next.Percent == whole && to == whole {
		return nil, now
	}
	return &next, since
}

// isUntouched reports whether maintenance has not begun to write routes of a backend.
func isUntouched(backend *gimbalv1.DiscoveryBackend) bool {
	return meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained) == nil || isEnabled(backend)
}

// percentAfter returns the share after the steps that are due, and when the last of them was.
func percentAfter(ramp *gimbalv1.RampStatus, duration time.Duration, since, now time.Time) (int32, time.Time) {
	if duration <= 0 {
		return ramp.To, since
	}
	var due int32
	for step := stepDuration(duration); due < stepCount && now.Sub(since) >= step; due++ {
		since = since.Add(step)
	}
	if ramp.To < ramp.Percent {
		return max(ramp.Percent-due*stepPercent, ramp.To), since
	}
	return min(ramp.Percent+due*stepPercent, ramp.To), since
}

// nextStep is when the next step is due, when the current one counts since a time; zero when there is none.
func nextStep(ramp *gimbalv1.RampStatus, duration time.Duration, since time.Time) time.Time {
	if ramp == nil || ramp.Percent == ramp.To || duration <= 0 {
		return time.Time{}
	}
	return since.Add(stepDuration(duration))
}

func stepDuration(duration time.Duration) time.Duration { return max(duration/stepCount, 1) }

func drainDuration(backend *gimbalv1.DiscoveryBackend) time.Duration {
	return ptr.Deref(backend.Cluster.DrainDuration, metav1.Duration{}).Duration
}
