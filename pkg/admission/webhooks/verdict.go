// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package webhooks serves admission webhooks: reviews over HTTP, with limits, metrics and words for what went wrong. Each
// package below it is a webhook: who refuses what in the cluster that we extend is written there.
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
	// Allowed: nothing speaks against the request.
	Allowed Outcome = "allowed"
	// Denied: the request is refused.
	Denied Outcome = "denied"
	// Failed: nobody can tell.
	Failed Outcome = "error"
)

// Verdict is what a webhook thinks of a request.
type Verdict struct {
	// Outcome is how the review ended.
	Outcome Outcome
	// Refused says that the request does not pass. A failed review may go either way.
	Refused bool
	// Message tells the user why the request is refused.
	Message string
	// Warnings are told to the user when the request passes.
	Warnings []string
}

// Allow lets a request pass.
func Allow(warnings ...string) Verdict { return Verdict{Outcome: Allowed, Warnings: warnings} }

// Deny refuses a request.
func Deny(format string, values ...any) Verdict {
	return Verdict{Outcome: Denied, Refused: true, Message: fmt.Sprintf(format, values...)}
}

// FailClosed refuses a request that nobody can judge: to let it pass could destroy something.
func FailClosed(err error) Verdict {
	return Verdict{Outcome: Failed, Refused: true, Message: err.Error()}
}

// FailOpen lets a request pass that nobody can judge, with a warning: what the webhook guards is no danger, or somebody
// else checks it later.
func FailOpen(err error) Verdict {
	return Verdict{Outcome: Failed, Warnings: []string{err.Error()}}
}

// Reviewer judges requests. It is called by many goroutines.
type Reviewer interface {
	Review(ctx context.Context, request *admissionv1.AdmissionRequest) Verdict
}

// response is a verdict in the words of the API server, which adds the name of the webhook to a message.
func (v Verdict) response() ctrladmission.Response {
	var response ctrladmission.Response
	switch {
	case v.Refused && v.Outcome == Failed:
		response = ctrladmission.Denied(v.Message)
		response.Result.Code, response.Result.Reason = http.StatusServiceUnavailable, "ServiceUnavailable"
	case v.Refused:
		response = ctrladmission.Denied(v.Message)
	default:
		response = ctrladmission.Allowed("")
	}
	response.Warnings = v.Warnings
	return response
}
