// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
)

type atOnceKey struct{}

// AtOnce returns a context whose requests return a rejection that has Retry-After (429, and 5xx). client-go repeats those up to ten
// times before it returns, for minutes if the server asks for that, in which nobody knows why there is no response.
func AtOnce(ctx context.Context) context.Context { return context.WithValue(ctx, atOnceKey{}, true) }

// impatient hides Retry-After from the client of requests that have a context of AtOnce.
type impatient struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := i.RoundTripper.RoundTrip(request)
	if response != nil && request.Context().Value(atOnceKey{}) != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}
