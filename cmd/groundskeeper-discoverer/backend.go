// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
)

// backend is implemented for each type of backend.
type backend interface {
	replica.Upstream
	// Unknown reports whether it is unknown that a service does not exist.
	Unknown(key types.NamespacedName) bool
	// listen makes the copies follow. It is called once.
	listen(to *replica.Replica)
	// watch follows the backend until ctx is done. It only reads, and may end later.
	watch(ctx context.Context)
	// probeUntilDone probes the backend periodically until ctx is done, and reports problems.
	probeUntilDone(ctx context.Context)
}

// measured returns an http.RoundTripper that notes how long requests to the backend take, by their paths without names and
// ids. Watches are not requests that end.
func (d *discoverer) measured(pathOf func(path string) string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("watch") == "true" {
				return next.RoundTrip(request)
			}
			start := time.Now()
			response, err := next.RoundTrip(request)
			d.meters.Latency(pathOf(request.URL.Path), time.Since(start))
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
