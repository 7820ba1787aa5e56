// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
)

const hidden = "hunter2hunter2"

// judge is a reviewer by the operation of the request.
type judge struct{}

func (judge) Review(ctx context.Context, request *admissionv1.AdmissionRequest) Verdict {
	if _, limited := ctx.Deadline(); !limited {
		return FailClosed(errors.New("it may take indefinitely"))
	}
	switch request.Operation {
	case admissionv1.Create:
		return Allow("a warning")
	case admissionv1.Delete:
		return Deny("no %s", "way")
	case admissionv1.Update:
		return FailClosed(errors.New("it is unknown"))
	case admissionv1.Connect:
		return FailOpen(errors.New("not checked"))
	}
	panic(string(request.Object.Raw))
}

func TestHandler(t *testing.T) {
	var log strings.Builder
	logger := funcr.New(func(prefix, args string) { log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 9})
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := Handler(map[string]Reviewer{"judge": judge{}}, metrics, logger)
	if err != nil {
		t.Fatal(err)
	}
	review := func(operation string) string {
		return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"` + operation + `","object":{"x":"` + hidden + `"}}}`
	}
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"allowed":          {"POST", "/webhooks/judge", review("CREATE"), 200, `"allowed":true,"status":{"metadata":{},"code":200},"warnings":["a warning"]`},
		"denied":           {"POST", "/webhooks/judge", review("DELETE"), 200, `"allowed":false,"status":{"metadata":{},"message":"no way","reason":"Forbidden","code":403}`},
		"failed, rejected": {"POST", "/webhooks/judge", review("UPDATE"), 200, `"allowed":false,"status":{"metadata":{},"message":"it is unknown","reason":"ServiceUnavailable","code":503}`},
		"failed, passes":   {"POST", "/webhooks/judge", review("CONNECT"), 200, `"allowed":true,"status":{"metadata":{},"code":200},"warnings":["not checked"]`},
		"panic":            {"POST", "/webhooks/judge", review("PANIC"), 500, "the review failed"},
		"another version":  {"POST", "/webhooks/judge", strings.Replace(review("CREATE"), "/v1", "/v1beta1", 1), 400, "admission.k8s.io/v1"},
		"another kind":     {"POST", "/webhooks/judge", strings.Replace(review("CREATE"), "AdmissionReview", "Review", 1), 400, "admission.k8s.io/v1"},
		"without request":  {"POST", "/webhooks/judge", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, "the body is not an AdmissionReview"},
		"no JSON":          {"POST", "/webhooks/judge", hidden, 400, "the body is not an AdmissionReview"},
		"too large":        {"POST", "/webhooks/judge", strings.Repeat(" ", maxBody+1), 413, "at most"},
		"another method":   {"GET", "/webhooks/judge", "", 405, ""},
		"another path":     {"POST", "/webhooks/other", review("CREATE"), 404, ""},
		"without a prefix": {"POST", "/judge", review("CREATE"), 404, ""},
	} {
		request := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if response.Code != tc.code || !strings.Contains(response.Body.String(), tc.want) {
			t.Errorf("%s: %d %s", name, response.Code, response.Body)
		}
		if tc.code == http.StatusOK {
			var result admissionv1.AdmissionReview
			if err := json.Unmarshal(response.Body.Bytes(), &result); err != nil || result.Response.UID != "u" || result.APIVersion != "admission.k8s.io/v1" {
				t.Errorf("%s: %v, %+v", name, err, result)
			}
		}
		if strings.Contains(response.Body.String(), hidden) {
			t.Errorf("%s: the response has the object in it: %s", name, response.Body)
		}
	}
	if strings.Contains(log.String(), hidden) || !strings.Contains(log.String(), `"message"="no way"`) || !strings.Contains(log.String(), "Recovered from a panic in a review") {
		t.Errorf("the log is\n%s", log.String())
	}
	err = testutil.CollectAndCompare(metrics.decisions, strings.NewReader(`
# HELP groundskeeper_webhook_decisions_total Admission reviews, by webhook and outcome: allowed, denied or error.
# TYPE groundskeeper_webhook_decisions_total counter
groundskeeper_webhook_decisions_total{outcome="allowed",webhook="judge"} 1
groundskeeper_webhook_decisions_total{outcome="denied",webhook="judge"} 1
groundskeeper_webhook_decisions_total{outcome="error",webhook="judge"} 3
`))
	if err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(metrics.duration); n != 1 {
		t.Errorf("%d latencies", n)
	}
}

func TestMetricsTwice(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewMetrics(registry)
	if err != nil || second.decisions != first.decisions || second.duration != first.duration {
		t.Errorf("got %v, %v", second, err)
	}
}
