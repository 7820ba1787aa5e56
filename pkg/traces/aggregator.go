// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package traces

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/component-base/tracing"
)

// The library begins a new trace for a request of anybody but an administrator, so that users cannot decide what is
// sampled, and links it to theirs. Behind the aggregator that would cut each request of a user in two: what it hands on
// is a span of kube-apiserver, which has taken this decision already.

type fromAggregatorKey struct{}

// FromAggregator returns a handler that marks requests for which trusted is true: their spans continue the trace that
// the request names. Only the origin of requests that name one is verified.
func FromAggregator(next http.Handler, trusted func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("traceparent") != "" && trusted(r) {
			r = r.WithContext(context.WithValue(r.Context(), fromAggregatorKey{}, true))
		}
		next.ServeHTTP(w, r)
	})
}

// Continuing returns a provider whose spans continue the trace of the requests that FromAggregator marks.
func Continuing(provider tracing.TracerProvider) tracing.TracerProvider {
	return continuing{provider}
}

type continuing struct{ tracing.TracerProvider }

// Tracer implements trace.TracerProvider.
func (c continuing) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return continuingTracer{c.TracerProvider.Tracer(name, options...)}
}

type continuingTracer struct{ trace.Tracer }

// Start implements trace.Tracer.
func (t continuingTracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(options...)
	if marked, _ := ctx.Value(fromAggregatorKey{}).(bool); !marked || !config.NewRoot() {
		return t.Tracer.Start(ctx, name, options...)
	}
	// All options except WithNewRoot and its link.
	same := []trace.SpanStartOption{trace.WithAttributes(config.Attributes()...), trace.WithSpanKind(config.SpanKind())}
	if at := config.Timestamp(); !at.IsZero() {
		same = append(same, trace.WithTimestamp(at))
	}
	return t.Tracer.Start(ctx, name, same...)
}
