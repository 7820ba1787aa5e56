// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kit contains what every controller and discoverer needs: which errors are transient, how failures are retried, the
// preconditions of a deletion, bounded messages, and the annotation that pauses an object.
package kit

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// AnnotationPaused with the value "true" stops the reconciliation of an object. Setting it requires a permission (pkg/admission).
const AnnotationPaused = "groundskeeper.io/paused"

// IsPaused reports whether an object is not to be reconciled.
func IsPaused(object metav1.Object) bool { return object.GetAnnotations()[AnnotationPaused] == "true" }

// A failed reconciliation is retried with exponential backoff. Its maximum is short enough for a fast recovery after an outage.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// RateLimiter returns the backoff of a queue after failures.
func RateLimiter[K comparable]() workqueue.TypedRateLimiter[K] { return RateLimiterFrom[K](minBackoff) }

// RateLimiterFrom is RateLimiter with another first delay.
func RateLimiterFrom[K comparable](first time.Duration) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[K](first, maxBackoff)
}

// AsRead returns preconditions that limit a write to the object that was read, in the state in which it was read.
func AsRead(object metav1.Object) metav1.Preconditions {
	return metav1.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())}
}
