// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"

	"groundskeeper.io/groundskeeper/pkg/stack"
)

// growOuter returns a handler that has room for the filters.
func growOuter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stack.GrowForFilters()
		next.ServeHTTP(w, r)
	})
}

// growInner returns an authenticator that makes room for reads and writes of objects: authentication is the first thing of
// ours on the second goroutine. Watches, of which there are many and for long, take what they need.
func growInner(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && info.Verb != "watch" {
			stack.GrowForObjects()
		}
		return next.AuthenticateRequest(r)
	})
}
