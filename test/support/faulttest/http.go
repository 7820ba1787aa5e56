// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faulttest

import (
	"net/http"
	"net/http/httptest"
)

// Handler passes requests of the present process to a system that speaks HTTP. A request to write is one that isWrite reports as
// such; nil: each whose method is not GET.
func (g *Gate) Handler(next http.Handler, isWrite func(*http.Request) bool) http.Handler {
	if isWrite == nil {
		isWrite = func(r *http.Request) bool { return r.Method != http.MethodGet }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := Request{Verb: r.Method, Object: r.URL.RequestURI(), Write: isWrite(r)}
		i, fault, err := g.enter(&request, g.Process())
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if fault == KilledBefore {
			g.end()
		}
		if fault.prevents() {
			if fault.status() == 0 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(fault.status())
			_, _ = w.Write([]byte(`{"error": {"message": "a fault of the test"}}`))
			return
		}
		g.age(fault)
		response := httptest.NewRecorder()
		next.ServeHTTP(response, r)
		g.leave(i, fault, nil)
		body := response.Body.Bytes()
		switch fault {
		case ResponseLost, KilledAfter:
			panic(http.ErrAbortHandler)
		case HalfResponse:
			body = body[:len(body)/2]
		}
		for name, values := range response.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(response.Code)
		_, _ = w.Write(body)
		if fault == HalfResponse {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
}
