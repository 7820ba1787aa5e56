// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package kit contains what every controller and discoverer needs: which errors are transient, how failures are retried, the
// preconditions of a deletion, bounded messages, shared strings, and the annotation that pauses an object.
package kit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// AnnotationPaused with any value except "false" stops the reconciliation of an object: a misspelled "true" must not resume what a user
// stopped. Setting it requires a permission (pkg/admission).
const AnnotationPaused = "groundskeeper.io/paused"

// IsPaused reports whether an object is not to be reconciled.
func IsPaused(object metav1.Object) bool {
	value, ok := object.GetAnnotations()[AnnotationPaused]
	return ok && value != "false"
}

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

// Backoff returns the pause after a failure, counted from 1: twice the one before it up to the longest one, less a random part of up to
// half. The random number is in [0, 1).
func Backoff(failures int, first, longest time.Duration, random float64) time.Duration {
	pause := first
	for i := 1; i < failures && pause < longest; i++ {
		pause *= 2
	}
	pause = min(pause, longest)
	return pause - time.Duration(random*float64(pause)/2)
}

// Pause waits, or returns the error of the context.
func Pause(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// AsRead returns preconditions that limit a write to the object that was read, in the state in which it was read.
func AsRead(object metav1.Object) metav1.Preconditions {
	return metav1.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())}
}

// ErrChanged reports that an object was deleted or replaced between the read and the write.
var ErrChanged = errors.New("the object was changed concurrently")

// NotFoundIsChanged marks the error of a write whose object does not exist any more with ErrChanged. The error of a server that
// does not serve the resource is returned unchanged: nothing is known about the object then.
func NotFoundIsChanged(err error) error {
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// IsConcurrentChange reports whether an error is caused by a concurrent change, which the next reconciliation reads. It is not
// worth a report to users.
func IsConcurrentChange(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, ErrChanged) || IsTerminating(err)
}

// IsTerminating reports whether a write was rejected because its namespace is being deleted.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// IsUnavailable reports whether a later request may succeed: there was no response, the server is overloaded, or it failed.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// Intern returns the one copy of a string that thousands of cached objects have in common. After a garbage collection there may be
// another one.
func Intern[S ~string](s S) S { return S(unique.Make(string(s)).Value()) }

// MaxEventMessage is how many bytes the API server accepts as the message of an event.
const MaxEventMessage = 1024

const ellipsis = "…"

// Bounded returns a message on one line, in valid UTF-8 and with at most limit bytes: as the API server accepts it in a condition or
// an event, whatever another server has written into it.
func Bounded(message string, limit int) string {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "?"), "\n", "; ")
	if len(message) <= limit {
		return message
	}
	// Nothing but the last character, of which a part may be left, is invalid.
	return strings.ToValidUTF8(message[:limit-len(ellipsis)], "") + ellipsis
}
