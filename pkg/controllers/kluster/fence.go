// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Fenced sends each request that changes something only while the fence is open, because a workload cluster cannot check the Lease of this
// process.
type Fenced struct {
	http.RoundTripper
	Fence func() error
}

// RoundTrip implements http.RoundTripper.
func (f Fenced) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if err := f.Fence(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // it is not read
			}
			return nil, fmt.Errorf("nothing is written to the workload cluster: %w", err)
		}
	}
	return f.RoundTripper.RoundTrip(request)
}

// FencedConfig returns a configuration whose changes the fence guards.
func FencedConfig(config *rest.Config, fence func() error) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return Fenced{RoundTripper: next, Fence: fence} })
	return config
}
