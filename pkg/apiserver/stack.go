// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Each request has two goroutines of the library's, which begin with small stacks: one that leads through the filters up to
// that for timeouts, and one for all the rest. A stack that is full is copied into one of twice the size, frame by frame, the
// dearer the more there is on it: nearly a tenth of what a read of one object takes. A stack that grows while next to nothing
// is on it costs next to nothing.

// Sizes that all requests but the deepest applies have room in.
const (
	outerStack = 6 << 10
	innerStack = 24 << 10
)

// growOuter returns a handler that has room for the filters.
func growOuter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growOuterStack()
		next.ServeHTTP(w, r)
	})
}

// growInner returns an authenticator that makes room for reads and writes of objects: authentication is the first thing of
// ours on the second goroutine. Watches, of which there are many and for long, take what they need.
func growInner(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && info.Verb != "watch" {
			growInnerStack()
		}
		return next.AuthenticateRequest(r)
	})
}

//go:noinline
func growOuterStack() {
	var room [outerStack]byte
	use(room[:])
}

//go:noinline
func growInnerStack() {
	var room [innerStack]byte
	use(room[:])
}

// use keeps the compiler from leaving out what is not used.
//
//go:noinline
func use([]byte) {}
