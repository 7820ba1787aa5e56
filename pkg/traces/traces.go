// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package traces sends the spans of a server to an OpenTelemetry collector, by OTLP over gRPC.
package traces

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"groundskeeper.io/groundskeeper/pkg/version"
)

// Service names who makes the spans.
type Service struct {
	// Name is the name of the binary.
	Name string
	// Instance distinguishes the replicas of a service.
	Instance string
}

// NewProvider returns the provider of the spans of a service. The caller shuts it down, which sends the remaining spans.
// A collector that cannot be reached costs spans and a log line, no request.
func NewProvider(
	ctx context.Context, config *tracingapi.TracingConfiguration, service Service, options ...otlptracegrpc.Option,
) (tracing.TracerProvider, error) {
	provider, err := tracing.NewProvider(ctx, config, options, []resource.Option{resource.WithAttributes(
		attribute.String("service.name", service.Name),
		attribute.String("service.version", version.Version()),
		attribute.String("service.instance.id", service.Instance),
	)})
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return provider, nil
}

// LogTo makes the library log to a logger; by default it writes its own lines to standard error. The library keeps
// all of this in global variables, so it is called once per process.
func LogTo(logger logr.Logger) {
	// Instruments would be retained indefinitely, and are not read.
	otel.SetMeterProvider(noop.NewMeterProvider())
	otel.SetLogger(logger)
	otel.SetErrorHandler(&errorLog{logger: logger})
}

// errorLog logs what is wrong with sending, once for as long as it stays the same.
type errorLog struct {
	logger logr.Logger

	mu   sync.Mutex
	last string
}

// Handle implements otel.ErrorHandler.
func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := err.Error(); text != l.last {
		l.last = text
		l.logger.Error(err, "Spans are lost: they cannot be sent to the collector")
	}
}

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
