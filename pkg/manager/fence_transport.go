// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"net/http"
)

// wrap returns a transport that rejects writes of a former leader. kube-apiserver does not check the Lease: a process that was
// suspended would continue to write for up to a second, until the election ends it, and not every write has a resourceVersion or a
// UID as a precondition. A process that was never the leader may write: what does not depend on the election, as certificates.
func (f *Fence) wrap(next http.RoundTripper) http.RoundTripper {
	return &fencedTransport{next: next, fence: f}
}

type fencedTransport struct {
	next  http.RoundTripper
	fence *Fence
}

// RoundTrip implements http.RoundTripper.
func (t *fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.next.RoundTrip(request)
	}
	if err := t.fence.checkFormer(); err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // a transport has to
		}
		return nil, fmt.Errorf("nothing was sent: %w", err)
	}
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// checkFormer is Check for a process that was the leader, and nil for one that never was.
func (f *Fence) checkFormer() error {
	f.mu.Lock()
	led := f.renewed != instant{}
	f.mu.Unlock()
	if !led {
		return nil
	}
	return f.Check()
}
