// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var pods = schema.GroupResource{Resource: "pods"}

func terminating() error {
	err := apierrors.NewForbidden(pods, "a", errors.New("the namespace is being deleted"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

func notServed() error {
	err := apierrors.NewNotFound(pods, "a")
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}
	return err
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err                     error
		concurrent, unavailable bool
	}{
		"none":                        {nil, false, false},
		"conflict":                    {apierrors.NewConflict(pods, "a", nil), true, false},
		"terminating namespace":       {terminating(), true, false},
		"changed":                     {fmt.Errorf("update pod a: %w", ErrChanged), true, false},
		"not found in a write":        {NotFoundIsChanged(apierrors.NewNotFound(pods, "a")), true, false},
		"resource that is no more":    {NotFoundIsChanged(notServed()), false, false},
		"not found":                   {apierrors.NewNotFound(pods, "a"), false, false},
		"exists":                      {apierrors.NewAlreadyExists(pods, "a"), false, false},
		"forbidden":                   {apierrors.NewForbidden(pods, "a", nil), false, false},
		"too many requests":           {apierrors.NewTooManyRequests("later", 1), false, true},
		"server timeout":              {apierrors.NewServerTimeout(pods, "get", 1), false, true},
		"timeout":                     {apierrors.NewTimeoutError("slow", 1), false, true},
		"unavailable":                 {apierrors.NewServiceUnavailable("restarting"), false, true},
		"internal":                    {apierrors.NewInternalError(errors.New("broken")), false, true},
		"wrapped":                     {fmt.Errorf("get pod a: %w", apierrors.NewServiceUnavailable("restarting")), false, true},
		"no response":                 {errors.New("connection refused"), false, true},
		"no response within its time": {context.DeadlineExceeded, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsConcurrentChange(test.err); got != test.concurrent {
				t.Errorf("IsConcurrentChange(%v) = %v", test.err, got)
			}
			// That an object has changed is no response of a server.
			if got := IsUnavailable(test.err); got != test.unavailable && !errors.Is(test.err, ErrChanged) {
				t.Errorf("IsUnavailable(%v) = %v", test.err, got)
			}
		})
	}
	if err := NotFoundIsChanged(apierrors.NewNotFound(pods, "a")); !apierrors.IsNotFound(err) {
		t.Errorf("error = %v, want one that still wraps the response", err)
	}
}

func TestBounded(t *testing.T) {
	for message, want := range map[string]string{
		"":               "",
		"exactly 10":     "exactly 10",
		"eleven byte":    "eleven …",
		"two\nlines":     "two; lines",
		"fourüüü":        "fourüüü",
		"fourüüüü":       "fourü…", // a part of the second ü is left out
		"bad\xff":        "bad?",
		"bad\xff bytes!": "bad? by…",
	} {
		got := Bounded(message, 10)
		if got != want || len(got) > 10 || !utf8.ValidString(got) {
			t.Errorf("Bounded(%q, 10) = %q, want %q", message, got, want)
		}
	}
}

func TestIsPaused(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "True": true, "yes": true, "1": true, "": true} {
		if got := IsPaused(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationPaused: value}}}); got != want {
			t.Errorf("IsPaused with the value %q = %v", value, got)
		}
	}
	if IsPaused(&corev1.Pod{}) {
		t.Error("an object without annotations is paused")
	}
}

func TestRateLimiter(t *testing.T) {
	limiter := RateLimiter[string]()
	for _, want := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		if got := limiter.When("a"); got != want {
			t.Errorf("delay = %s, want %s", got, want)
		}
	}
	for range 20 {
		limiter.When("a")
	}
	if got := limiter.When("a"); got != 30*time.Second {
		t.Errorf("delay = %s, want 30s at most", got)
	}
	if got := RateLimiterFrom[string](time.Second).When("a"); got != time.Second {
		t.Errorf("first delay = %s, want 1s", got)
	}
}

func TestAsRead(t *testing.T) {
	got := AsRead(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}})
	if got.UID == nil || *got.UID != "u" || got.ResourceVersion == nil || *got.ResourceVersion != "7" {
		t.Errorf("preconditions = %v, want those of the object", got)
	}
}

// TestBackoff checks that the pause grows up to its limit and is spread over its second half.
func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 1000: 5 * time.Second} {
		if got := Backoff(failures, time.Second, 5*time.Second, 0); got != want {
			t.Errorf("pause %d is %s, want %s", failures, got, want)
		}
		if got := Backoff(failures, time.Second, 5*time.Second, 1); got != want/2 {
			t.Errorf("least pause %d is %s, want %s", failures, got, want/2)
		}
	}
}

// TestPause checks that a pause ends with its time or with its context.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Pause(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it ended after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Pause(ctx, time.Minute); !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute {
			t.Errorf("it ended after %s: %v", time.Since(began), err)
		}
	})
}
