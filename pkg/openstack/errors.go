// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Reason classifies an error. It can be used as the reason of a condition.
type Reason string

// Reasons of failures.
const (
	// ReasonUnreachable means that no response came, or one that says that the service is broken.
	ReasonUnreachable Reason = "Unreachable"
	// ReasonCredentialsRefused means that Keystone does not accept the credentials.
	ReasonCredentialsRefused Reason = "CredentialsRefused"
	// ReasonCredentialsInvalid means that the Secret holds no credentials that could be tried.
	ReasonCredentialsInvalid Reason = "CredentialsInvalid"
	// ReasonForbidden means that the user may not do this.
	ReasonForbidden Reason = "Forbidden"
	// ReasonNotFound means that the object does not exist, or not for this user.
	ReasonNotFound Reason = "NotFound"
	// ReasonConflict means that the object is in use, or changed meanwhile.
	ReasonConflict Reason = "Conflict"
	// ReasonQuotaExceeded means that the project has used up its quota.
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonRateLimited means that there are too many requests, by the rules of the cloud or by the limits of Groundskeeper.
	ReasonRateLimited Reason = "RateLimited"
	// ReasonRefused means that the service does not accept the request in this form.
	ReasonRefused Reason = "Refused"
	// ReasonServiceMissing means that the catalog has no such service for Groundskeeper.
	ReasonServiceMissing Reason = "ServiceMissing"
	// ReasonIncomplete means that the response is known to be partial, so that nothing may be concluded from it.
	ReasonIncomplete Reason = "IncompleteAnswer"
	// ReasonCanceled means that the caller gave up, or may not write any more (Options.BeforeWrite).
	ReasonCanceled Reason = "Canceled"
)

// advice returns the remedy of a failure.
func (r Reason) advice() string {
	switch r {
	case ReasonUnreachable:
		return "check that the cloud is up and can be reached from here, through the proxy if there is one"
	case ReasonCredentialsRefused:
		return "check user, password, domains and project in the Secret, or make a new application credential"
	case ReasonCredentialsInvalid:
		return "correct the Secret"
	case ReasonForbidden:
		return "give the user of the Secret permission to do this in its project"
	case ReasonQuotaExceeded:
		return "raise the quota of the project"
	case ReasonRateLimited:
		return "it is tried again later"
	case ReasonServiceMissing:
		return "check region and interface in the Secret, and whether the cloud has this service"
	default:
		return ""
	}
}

// Error is a call that failed. It holds neither a password nor a token.
type Error struct {
	// Op is what was tried and with what, as in "read router 0f1e".
	Op string
	// Reason is the kind of the failure.
	Reason Reason
	// Status is the code of the response, 0 when none came.
	Status int
	// Message is the service's, shortened; empty when it gave none.
	Message string
	// RetryAfter is how long the service asks to wait; 0: it does not say.
	RetryAfter time.Duration
	// Remedy is what to do; "": what the reason advises.
	Remedy string
	// Err is why there is no response, or none that can be used; nil when the service rejected.
	Err error
}

// Error states the operation, the response of the service and the remedy.
func (e *Error) Error() string {
	s := e.Op
	if e.Status != 0 {
		s += fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if advice := cmp.Or(e.Remedy, e.Reason.advice()); advice != "" {
		s += " (" + advice + ")"
	}
	return s
}

// Unwrap is why there is no response.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the kind of a failure; ReasonUnreachable when the error is not of this package.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ReasonUnreachable
}

// IsNotFound reports that the object does not exist, or not for this user.
func IsNotFound(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == ReasonNotFound
}

// RetryAfter is how long the service asks to wait before the next try; 0: it does not say.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// incomplete returns the error of a response that must not be concluded from.
func incomplete(op, format string, args ...any) error {
	return &Error{Op: op, Reason: ReasonIncomplete, Err: fmt.Errorf(format, args...)}
}
