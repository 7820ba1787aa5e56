// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package instrument

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// scope is the instrumentation scope of the spans.
const scope = "groundskeeper.io/groundskeeper/pkg/controllers"

// Spans returns an observer that creates a span for each reconcile.
func Spans(provider trace.TracerProvider) Observer { return spans{provider.Tracer(scope)} }

type spans struct{ tracer trace.Tracer }

// Begin implements Observer.
func (s spans) Begin(ctx context.Context, name, object string) (context.Context, func(reconcile.Result, error)) {
	ctx, span := s.tracer.Start(ctx, "reconcile "+name, trace.WithNewRoot(), trace.WithAttributes(
		attribute.String("controller", name),
		attribute.String("object", object),
		attribute.String("reconcileID", string(controller.ReconcileIDFromContext(ctx))), // as in the log
	))
	return ctx, func(result reconcile.Result, err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		if result.RequeueAfter > 0 {
			span.SetAttributes(attribute.String("requeueAfter", result.RequeueAfter.String()))
		}
		span.End()
	}
}

// Requests returns a wrapper of transports that uses traced for the requests of a reconcile only. Other requests of a manager, its
// watches and the renewal of its Lease, would create traces that never end or have no parent.
func Requests(traced func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(plain http.RoundTripper) http.RoundTripper {
		return &requests{plain: plain, traced: traced(plain)}
	}
}

type requests struct{ plain, traced http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	if trace.SpanContextFromContext(request.Context()).IsValid() {
		return r.traced.RoundTrip(request)
	}
	return r.plain.RoundTrip(request)
}

// WrappedRoundTripper returns the wrapped transport, as client-go requires.
func (r *requests) WrappedRoundTripper() http.RoundTripper { return r.plain }
