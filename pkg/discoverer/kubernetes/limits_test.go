// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

// TestProbeOfLimitedBackend checks that a backend that requests fewer requests is reported by the probe that it rejects, which is not
// repeated until it succeeds, and that it counts as a backend that responds.
func TestProbeOfLimitedBackend(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			w.Header().Set("Retry-After", "0") // client-go repeats it without a pause
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		if strings.HasSuffix(r.URL.Path, "/services") {
			_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "ServiceList"}`))
			return
		}
		_, _ = w.Write([]byte(`{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSliceList"}`))
	}))
	t.Cleanup(server.Close)
	c, err := client.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	var responses []report.Response
	u := New(Options{Backend: "us", Client: c, Watching: c, Contact: func(response report.Response) { responses = append(responses, response) }})
	var reported []*report.Problem
	u.Probe(ctx, clock, time.Minute, func(problem *report.Problem) {
		reported = append(reported, problem)
		if len(reported) == 2 {
			cancel()
		}
		clock.Step(time.Minute)
	})
	if reported[0] == nil || reported[0].Type != gimbalv1.ErrorRateLimited || reported[1] != nil {
		t.Errorf("problems = %v, want %s, then none", reported, gimbalv1.ErrorRateLimited)
	}
	if responses[0] != report.Limited || responses[1] != report.Responded {
		t.Errorf("responses = %v, want %d, then %d", responses, report.Limited, report.Responded)
	}
}

// overloaded rejects all lists.
type overloaded struct{ client.Services }

// List implements client.Services.
func (overloaded) List(context.Context, metav1.ListOptions) (*corev1.ServiceList, error) {
	return nil, apierrors.NewTooManyRequests("later", 1)
}

// TestLimitedLists checks that the probe reports the rejection of a list that fills a cache, although its own requests are responded to,
// until such a list or watch succeeds.
func TestLimitedLists(t *testing.T) {
	w := newWorld(t, nil, nil)
	u := New(Options{Backend: "us", Client: clienttest.Client{Clientset: w.there}, Watching: clienttest.Client{Clientset: w.there}, Contact: func(report.Response) {}})
	accept := func(context.Context) error { return nil }
	for name, again := range map[string]func(verified[*corev1.ServiceList]) error{
		"by a list": func(v verified[*corev1.ServiceList]) error {
			_, err := v.List(t.Context(), metav1.ListOptions{})
			return err
		},
		"by a watch": func(v verified[*corev1.ServiceList]) error {
			_, err := v.Watch(t.Context(), metav1.ListOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			note := u.limits.of("services", "shop")
			limited := verified[*corev1.ServiceList]{overloaded{u.Client.Services("shop")}, accept, note}
			if _, err := limited.List(t.Context(), metav1.ListOptions{}); !apierrors.IsTooManyRequests(err) {
				t.Fatalf("error of the list = %v, want too many requests", err)
			}
			if err := u.query(t.Context()); !apierrors.IsTooManyRequests(err) {
				t.Errorf("error of the probe = %v, want that of the list", err)
			}
			if err := again(verified[*corev1.ServiceList]{u.Client.Services("shop"), accept, note}); err != nil {
				t.Fatal(err)
			}
			if err := u.query(t.Context()); err != nil {
				t.Errorf("error of the probe afterwards = %v, want none", err)
			}
		})
	}
}
