// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package instrument

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/kit"
)

var request = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "a"}}

func TestSpans(t *testing.T) {
	failure := errors.New("it rains")
	for name, tc := range map[string]struct {
		result reconcile.Result
		err    error
		want   map[attribute.Key]string
		status codes.Code
	}{
		"done":   {want: map[attribute.Key]string{}},
		"later":  {result: reconcile.Result{RequeueAfter: time.Minute}, want: map[attribute.Key]string{"requeueAfter": "1m0s"}},
		"failed": {err: failure, want: map[attribute.Key]string{}, status: codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := tracetest.NewSpanRecorder()
			ctx := With(t.Context(), Spans(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))))
			var inside trace.SpanContext
			result, err := Reconciler("project", reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				if r != request {
					t.Errorf("request = %s", r)
				}
				inside = trace.SpanContextFromContext(ctx)
				return tc.result, tc.err
			})).Reconcile(ctx, request)
			if result != tc.result || !errors.Is(err, tc.err) {
				t.Errorf("%v, %v", result, err)
			}
			spans := recorder.Ended()
			if len(spans) != 1 || spans[0].Name() != "reconcile project" || spans[0].Status().Code != tc.status {
				t.Fatalf("%v", spans)
			}
			if !inside.Equal(spans[0].SpanContext()) {
				t.Error("the requests of the reconcile are not part of its trace")
			}
			tc.want["controller"], tc.want["object"], tc.want["reconcileID"] = "project", "team/a", ""
			got := map[attribute.Key]string{}
			for _, a := range spans[0].Attributes() {
				got[a.Key] = a.Value.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// diary observes by writing down.
type diary struct {
	name  string
	lines *[]string
}

func (l diary) Begin(ctx context.Context, controller, object string) (context.Context, func(reconcile.Result, error)) {
	*l.lines = append(*l.lines, fmt.Sprint(l.name, " ", controller, " ", object))
	return ctx, func(_ reconcile.Result, err error) { *l.lines = append(*l.lines, fmt.Sprint(l.name, " ", err)) }
}

func TestReconciler(t *testing.T) {
	var lines []string
	ctx := With(With(t.Context(), diary{"a", &lines}), diary{"b", &lines})
	for _, ctx := range []context.Context{t.Context(), ctx} {
		_, err := Reconciler("project", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			lines = append(lines, "reconcile")
			return reconcile.Result{}, errors.New("it rains")
		})).Reconcile(ctx, request)
		if err == nil {
			t.Error("no error")
		}
	}
	want := []string{"reconcile", "a project team/a", "b project team/a", "reconcile", "a it rains", "b it rains"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

type named string

func (n named) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(n)) }

// TestRequests checks that watches and renewals of Leases are not counted as part of a reconciliation.
func TestRequests(t *testing.T) {
	transport := Requests(func(http.RoundTripper) http.RoundTripper { return named("traced") })(named("plain"))
	ctx, span := sdktrace.NewTracerProvider().Tracer("test").Start(t.Context(), "reconcile")
	defer span.End()
	for want, ctx := range map[string]context.Context{"traced": ctx, "plain": t.Context()} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", want, err)
		}
		if response != nil {
			_ = response.Body.Close()
		}
	}
}

// A concurrent change is no failure, wherever the controller met it.
func TestConcurrentChanges(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "klusters"}, "a", errors.New("it changed"))
	for name, tc := range map[string]struct {
		err     error
		retried bool
	}{
		"conflict": {fmt.Errorf("update kluster team/a: %w", conflict), true},
		"replaced": {fmt.Errorf("delete pod: %w", kit.ErrChanged), true},
		"gone":     {apierrors.NewNotFound(schema.GroupResource{Resource: "klusters"}, "a"), false},
		"failure":  {errors.New("it rains"), false},
	} {
		for _, observed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, observed=%t", name, observed), func(t *testing.T) {
				ctx, reported := t.Context(), errors.New("not reported")
				if observed {
					ctx = With(ctx, observerFunc(func(_ reconcile.Result, err error) { reported = err }))
				}
				result, err := Reconciler("kluster", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					return reconcile.Result{}, tc.err
				})).Reconcile(ctx, request)
				if observed && !errors.Is(reported, err) {
					t.Errorf("reported %v, returned %v", reported, err)
				}
				if tc.retried && (err != nil || result.RequeueAfter != conflictPause) {
					t.Errorf("%+v, %v, want a retry after %s", result, err, conflictPause)
				}
				if !tc.retried && (!errors.Is(err, tc.err) || result != reconcile.Result{}) {
					t.Errorf("%+v, %v, want %v", result, err, tc.err)
				}
			})
		}
	}
}

type observerFunc func(reconcile.Result, error)

func (f observerFunc) Begin(ctx context.Context, _, _ string) (context.Context, func(reconcile.Result, error)) {
	return ctx, f
}
