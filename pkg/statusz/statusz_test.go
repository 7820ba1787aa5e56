// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package statusz

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHandler(t *testing.T) {
	type page struct {
		Component
		Role string `json:"role"`
	}
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	handler := Handler(func() any {
		p := page{Component: NewComponent("a", started, started.Add(90*time.Second+time.Millisecond)), Role: "leader"}
		p.Version, p.Commit, p.GoVersion = "v1", "abc", "go1"
		return p
	})
	for accept, want := range map[string]struct{ kind, body string }{
		"": {"text/plain; charset=utf-8",
			"name: a\nversion: v1\ncommit: abc\ngoVersion: go1\nstarted: \"2026-01-02T03:04:05Z\"\nuptime: 1m30s\nrole: leader\n"},
		"application/json": {"application/json",
			`{"name":"a","version":"v1","commit":"abc","goVersion":"go1","started":"2026-01-02T03:04:05Z","uptime":"1m30s","role":"leader"}` + "\n"},
		"application/json, */*": {kind: "application/json"},
		"text/html, */*":        {kind: "text/plain; charset=utf-8"},
	} {
		request := httptest.NewRequest(http.MethodGet, "/statusz", nil)
		request.Header.Set("Accept", accept)
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		if kind := response.Header().Get("Content-Type"); response.Code != http.StatusOK || kind != want.kind {
			t.Errorf("%s: %d, %s", accept, response.Code, kind)
		}
		if body := response.Body.String(); want.body != "" && body != want.body {
			t.Errorf("%s: got\n%s", accept, body)
		}
	}
	response := httptest.NewRecorder()
	Handler(func() any { return func() {} }).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/statusz", nil))
	if response.Code != http.StatusInternalServerError || !strings.Contains(response.Body.String(), "unsupported type") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
}
