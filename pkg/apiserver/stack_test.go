// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Answers are those of the next one, whatever the request is.
func TestGrownStacksChangeNothing(t *testing.T) {
	next := growInner(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: r.URL.Path}}, true, nil
	}))
	handler := growOuter(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, ok, err := next.AuthenticateRequest(r)
		if !ok || err != nil || response.User.GetName() != r.URL.Path {
			t.Errorf("%s: %v, %v, %v", r.URL.Path, response, ok, err)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	for path, info := range map[string]*request.RequestInfo{"/get": {Verb: "get"}, "/watch": {Verb: "watch"}, "/nothing": nil} {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		if info != nil {
			r = r.WithContext(request.WithRequestInfo(r.Context(), info))
		}
		if handler.ServeHTTP(w, r); w.Code != http.StatusTeapot {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
