// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package traces

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apiserver/pkg/endpoints/filters"
)

const (
	remoteTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	remoteSpan  = "00f067aa0ba902b7"
)

// TestContinuing checks that a request continues the trace of the aggregator, and no other trace.
func TestContinuing(t *testing.T) {
	for name, tc := range map[string]struct {
		traceparent bool
		trusted     bool
		continues   bool
		requested   bool
	}{
		"through the aggregator":                  {traceparent: true, trusted: true, continues: true, requested: true},
		"from elsewhere":                          {traceparent: true, requested: true},
		"through the aggregator, without a trace": {trusted: true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			provider := Continuing(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
			requested := false
			// The library's filter, for a user who is no administrator.
			handler := FromAggregator(filters.WithTracing(http.NotFoundHandler(), provider), func(*http.Request) bool {
				requested = true
				return tc.trusted
			})
			request := httptest.NewRequest(http.MethodGet, "/apis", nil)
			if tc.traceparent {
				request.Header.Set("traceparent", "00-"+remoteTrace+"-"+remoteSpan+"-01")
			}
			handler.ServeHTTP(httptest.NewRecorder(), request)
			if requested != tc.requested {
				t.Errorf("origin reviewed = %t", requested)
			}
			spans := recorder.Ended()
			if len(spans) != 1 {
				t.Fatalf("%d spans", len(spans))
			}
			span := spans[0]
			if got := span.SpanContext().TraceID().String() == remoteTrace && span.Parent().SpanID().String() == remoteSpan; got != tc.continues {
				t.Errorf("trace %s, parent %s", span.SpanContext().TraceID(), span.Parent().SpanID())
			}
			if linked := len(span.Links()) == 1; linked != (tc.traceparent && !tc.continues) {
				t.Errorf("%d links", len(span.Links()))
			}
			attributes := map[string]string{}
			for _, a := range span.Attributes() {
				attributes[string(a.Key)] = a.Value.String()
			}
			if attributes["http.target"] != "/apis" || span.SpanKind().String() != "server" || span.StartTime().IsZero() {
				t.Errorf("kind %s, attributes %v", span.SpanKind(), attributes)
			}
		})
	}
}

func TestErrorLogOmitsRepetitions(t *testing.T) {
	var lines []string
	log := &errorLog{logger: funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})}
	for _, err := range []error{errors.New("refused"), errors.New("refused"), context.DeadlineExceeded, errors.New("refused")} {
		log.Handle(err)
	}
	const line = `"msg"="Spans are lost: they cannot be sent to the collector" "error"=`
	want := []string{line + `"refused"`, line + `"context deadline exceeded"`, line + `"refused"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
