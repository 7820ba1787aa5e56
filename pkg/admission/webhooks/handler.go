// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

const (
	// prefix is where all webhooks are served.
	prefix = "/webhooks/"
	// maxBody is how many bytes a review may have: an object and the one before it, 3 MiB each, which is what the API
	// server takes, and the rest.
	maxBody = 7 << 20
	// timeout ends a review that is stuck. The API server waits no longer than that for any webhook of Groundskeeper.
	timeout = 10 * time.Second
)

// Handler serves reviewers, each at /webhooks/ and its name. Only AdmissionReview of admission.k8s.io/v1 is spoken. What
// is not a review gets an HTTP error, which the API server handles by the failure policy of the webhook.
func Handler(reviewers map[string]Reviewer, metrics *Metrics, logger logr.Logger) (http.Handler, error) {
	mux := http.NewServeMux()
	for name, reviewer := range reviewers {
		logger := logger.WithValues("webhook", name)
		review := func(ctx context.Context, request ctrladmission.Request) ctrladmission.Response {
			began := time.Now()
			verdict := Verdict{Outcome: Failed}
			defer func() {
				metrics.observe(name, verdict.Outcome, time.Since(began)) // of one that panics, too
				if cause := recover(); cause != nil {
					// The cause may have the object in it, and the library would log it.
					logger.Error(fmt.Errorf("panic with a %T", cause), "Recovered from a panic in a review", "stack", string(debug.Stack()))
					panic(errPanicked)
				}
			}()
			verdict = reviewer.Review(ctx, &request.AdmissionRequest)
			logVerdict(logger, &request.AdmissionRequest, verdict)
			return verdict.response()
		}
		hook := &ctrladmission.Webhook{Handler: ctrladmission.HandlerFunc(review)}
		handler, err := ctrladmission.StandaloneWebhook(hook.WithRecoverPanic(false), ctrladmission.StandaloneOptions{Logger: logger})
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %w", name, err)
		}
		mux.Handle("POST "+prefix+name, recovered(limited(handler)))
	}
	return mux, nil
}

// logVerdict logs denials, failures and warnings. It logs nothing of the object.
func logVerdict(logger logr.Logger, request *admissionv1.AdmissionRequest, verdict Verdict) {
	if verdict.Outcome == Allowed && len(verdict.Warnings) == 0 {
		return
	}
	logger.Info("Reviewed", "outcome", string(verdict.Outcome), "rejected", verdict.Rejected, "message", verdict.Message,
		"warnings", verdict.Warnings, "operation", string(request.Operation), "resource", request.Resource.String(), "namespace", request.Namespace, "name", request.Name,
		"user", request.UserInfo.Username, "requestID", string(request.UID))
}

// limited limits the size of a request, its content type and its duration.
func limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("a review has at most %d bytes", maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "failed to read the body", http.StatusBadRequest)
			return
		}
		var review struct {
			metav1.TypeMeta `json:",inline"`
			Request         *struct{} `json:"request"`
		}
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, "the body is not an AdmissionReview with a request", http.StatusBadRequest)
			return
		}
		if review.APIVersion != admissionv1.SchemeGroupVersion.String() || review.Kind != "AdmissionReview" {
			http.Error(w, "only AdmissionReview of "+admissionv1.SchemeGroupVersion.String()+" is supported", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// errPanicked reports that a review panicked, without the message.
var errPanicked = errors.New("the review failed, see the log of the webhook server")

// recovered responds with 500 when a review panics; the process and all other reviews continue.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil {
				http.Error(w, errPanicked.Error(), http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Metrics count decisions and measure how long they take.
type Metrics struct {
	decisions *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	f := telemetry.With(registry)
	m := &Metrics{
		decisions: f.CounterVec("groundskeeper_webhook_decisions_total",
			"Admission reviews, by webhook and outcome: allowed, denied or error.", "webhook", "outcome"),
		duration: f.HistogramVec("groundskeeper_webhook_duration_seconds", "Duration of admission reviews, by webhook.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "webhook"),
	}
	return m, f.Err()
}

func (m *Metrics) observe(webhook string, outcome Outcome, took time.Duration) {
	m.decisions.WithLabelValues(webhook, string(outcome)).Inc()
	m.duration.WithLabelValues(webhook).Observe(took.Seconds())
}
