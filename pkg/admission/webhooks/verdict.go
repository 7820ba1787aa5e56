// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package webhooks serves admission webhooks: reviews over HTTP, with limits, metrics and words for what went wrong. Each
// package below it is a webhook of the management cluster.
package webhooks

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Outcome is how a review ended, as a label of the metric.
type Outcome string

// The outcomes.
const (
	// Allowed means that no rule denies the request.
	Allowed Outcome = "allowed"
	// Denied: the request is rejected.
	Denied Outcome = "denied"
	// Failed: the review failed.
	Failed Outcome = "error"
)

// Verdict is what a webhook thinks of a request.
type Verdict struct {
	// Outcome is how the review ended.
	Outcome Outcome
	// Rejected reports that the request is rejected. A failed review may be either.
	Rejected bool
	// Message is the reason of the rejection.
	Message string
	// Warnings are returned to the user when the request is allowed.
	Warnings []string
}

// Allow lets a request pass.
func Allow(warnings ...string) Verdict { return Verdict{Outcome: Allowed, Warnings: warnings} }

// Deny rejects a request.
func Deny(format string, values ...any) Verdict {
	return Verdict{Outcome: Denied, Rejected: true, Message: fmt.Sprintf(format, values...)}
}

// FailClosed rejects a request that cannot be reviewed, because allowing it could cause data loss.
func FailClosed(err error) Verdict {
	return Verdict{Outcome: Failed, Rejected: true, Message: err.Error()}
}

// FailOpen allows a request that cannot be reviewed, with a warning, because the request is harmless or another component
// checks it later.
func FailOpen(err error) Verdict {
	return Verdict{Outcome: Failed, Warnings: []string{err.Error()}}
}

// Reviewer judges requests. It is called by many goroutines.
type Reviewer interface {
	Review(ctx context.Context, request *admissionv1.AdmissionRequest) Verdict
}

// response returns a verdict in the words of the API server, which adds the name of the webhook to a message.
func (v Verdict) response() ctrladmission.Response {
	var response ctrladmission.Response
	switch {
	case v.Rejected && v.Outcome == Failed:
		response = ctrladmission.Denied(v.Message)
		response.Result.Code, response.Result.Reason = http.StatusServiceUnavailable, "ServiceUnavailable"
	case v.Rejected:
		response = ctrladmission.Denied(v.Message)
	default:
		response = ctrladmission.Allowed("")
	}
	response.Warnings = v.Warnings
	return response
}
