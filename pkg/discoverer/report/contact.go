// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Reasons of the condition Reachable.
const (
	// reasonResponding: the backend has responded to the last request, whatever it responded.
	reasonResponding = "Responding"
	// reasonNotResponding: it has not.
	reasonNotResponding = "NotResponding"
)

// Contact is whether the backend responds, whatever it responds, and since when it has done so or not. What was before this process
// started is not known to it.
type Contact struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	reached bool
	since   time.Time
}

// NewContact returns a Contact of a backend to which no request was sent yet.
func NewContact(clock clock.PassiveClock) *Contact { return &Contact{clock: clock} }

// Note notes whether the backend has responded.
func (c *Contact) Note(reached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() || c.reached != reached {
		c.reached, c.since = reached, c.clock.Now()
	}
}

// condition returns the condition Reachable, nil before the first request. A backend that another process could not reach before
// counts as unreachable only from the first failure of this one on: what was between the two is not known.
func (c *Contact) condition(before *metav1.Condition, generation int64) *metav1.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return before
	}
	condition := &metav1.Condition{
		Type: gimbalv1.ConditionReachable, Status: metav1.ConditionFalse, Reason: reasonNotResponding, Message: "the backend does not respond",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(c.since.Truncate(time.Second)),
	}
	if c.reached {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, reasonResponding, "the backend responds"
		if before != nil && before.Status == metav1.ConditionTrue {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	return condition
}
