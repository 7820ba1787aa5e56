// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// send sends a request to a guard of port 4000 behind which everything is allowed.
func send(g *guard, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:4000"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	g.protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, r)
	return w
}

func TestGuard(t *testing.T) {
	g := newGuard(4000, false)
	_, token, _ := strings.Cut(g.url(), "?token=")
	if r := send(g, http.MethodGet, "/?token="+token+"x", nil); r.Code != http.StatusForbidden {
		t.Errorf("wrong token = %d, want 403", r.Code)
	}
	first := send(g, http.MethodGet, "/?token="+token, nil)
	if first.Code != http.StatusSeeOther || first.Header().Get("Location") != "/" || len(first.Header().Values("Set-Cookie")) != 1 {
		t.Fatalf("token = %d %v, want a redirect with a cookie", first.Code, first.Header())
	}
	cookie, err := http.ParseSetCookie(first.Header().Get("Set-Cookie"))
	if err != nil {
		t.Fatal(err)
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("cookie = %+v, want HttpOnly and SameSite=Strict", cookie)
	}
	if r := send(g, http.MethodGet, "/?token="+token, nil); r.Code != http.StatusForbidden {
		t.Errorf("second use of the token = %d, want 403", r.Code)
	}
	with := func(change func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			r.AddCookie(cookie)
			if change != nil {
				change(r)
			}
		}
	}
	header := func(name, value string) func(*http.Request) {
		return with(func(r *http.Request) { r.Header.Set(name, value) })
	}
	for name, tc := range map[string]struct {
		method, target string
		change         func(*http.Request)
		want           int
	}{
		"cookie":                 {http.MethodGet, "/api/search", with(nil), 200},
		"cookie, used token":     {http.MethodGet, "/?token=" + token, with(nil), 303},
		"localhost":              {http.MethodGet, "/", with(func(r *http.Request) { r.Host = "localhost:4000" }), 200},
		"own origin":             {http.MethodGet, "/api/search", header("Origin", "http://127.0.0.1:4000"), 200},
		"own site":               {http.MethodGet, "/api/search", header("Sec-Fetch-Site", "same-origin"), 200},
		"link on another site":   {http.MethodGet, "/", header("Sec-Fetch-Site", "cross-site"), 200},
		"no cookie":              {http.MethodGet, "/api/search", nil, 403},
		"no cookie, asset":       {http.MethodGet, "/console.js", nil, 403},
		"wrong cookie":           {http.MethodGet, "/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie.Name, Value: "x"}) }, 403},
		"cookie of another one":  {http.MethodGet, "/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "groundskeeper-console-1", Value: cookie.Value}) }, 403},
		"rebound host":           {http.MethodGet, "/", with(func(r *http.Request) { r.Host = "evil.example.com:4000" }), 403},
		"another port":           {http.MethodGet, "/", with(func(r *http.Request) { r.Host = "127.0.0.1:4001" }), 403},
		"other origin":           {http.MethodGet, "/api/search", header("Origin", "http://evil.example.com"), 403},
		"null origin":            {http.MethodGet, "/api/search", header("Origin", "null"), 403},
		"origin of another port": {http.MethodGet, "/api/search", header("Origin", "http://127.0.0.1:4001"), 403},
		"other site":             {http.MethodGet, "/api/search", header("Sec-Fetch-Site", "cross-site"), 403},
		"other port, same site":  {http.MethodGet, "/api/search", header("Sec-Fetch-Site", "same-site"), 403},
		"POST":                   {http.MethodPost, "/api/search", with(nil), 403},
		"HEAD":                   {http.MethodHead, "/", with(nil), 403},
		"OPTIONS":                {http.MethodOptions, "/", with(nil), 403},
		"DELETE":                 {http.MethodDelete, "/api/object", with(nil), 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := send(g, tc.method, tc.target, tc.change)
			if r.Code != tc.want {
				t.Errorf("status = %d, want %d", r.Code, tc.want)
			}
			if policy := r.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("Content-Security-Policy = %q", policy)
			}
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	a, b := newGuard(1, false), newGuard(1, false)
	if a.token == b.token || a.session == b.session || a.token == a.session || len(a.token) < 26 {
		t.Errorf("tokens = %q %q, sessions = %q %q, want four random texts", a.token, b.token, a.session, b.session)
	}
}

// A change needs the flag, the cookie, the origin of the page, its token and its type of content.
func TestGuardOfActions(t *testing.T) {
	for name, tc := range map[string]struct {
		off    bool
		path   string
		change func(*guard, *http.Request)
		want   int
	}{
		"page":                {want: 200},
		"no flag":             {off: true, want: 403},
		"no cookie":           {change: func(_ *guard, r *http.Request) { r.Header.Del("Cookie") }, want: 403},
		"no origin":           {change: func(_ *guard, r *http.Request) { r.Header.Del("Origin") }, want: 403},
		"other origin":        {change: func(_ *guard, r *http.Request) { r.Header.Set("Origin", "http://evil.example.com") }, want: 403},
		"other site":          {change: func(_ *guard, r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, want: 403},
		"rebound host":        {change: func(_ *guard, r *http.Request) { r.Host = "evil.example.com:4000" }, want: 403},
		"no token":            {change: func(_ *guard, r *http.Request) { r.Header.Del(formHeader) }, want: 403},
		"the session's token": {change: func(g *guard, r *http.Request) { r.Header.Set(formHeader, g.session) }, want: 403},
		"a form":              {change: func(_ *guard, r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, want: 403},
		"another path":        {path: "/api/search", want: 403},
		"another method":      {change: func(_ *guard, r *http.Request) { r.Method = http.MethodPut }, want: 403},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(4000, !tc.off)
			r := send(g, http.MethodPost, cmp.Or(tc.path, actionPath), func(r *http.Request) {
				r.AddCookie(&http.Cookie{Name: g.cookie, Value: g.session})
				r.Header.Set("Origin", "http://127.0.0.1:4000")
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set(formHeader, g.form)
				if tc.change != nil {
					tc.change(g, r)
				}
			})
			if r.Code != tc.want {
				t.Errorf("status = %d, want %d", r.Code, tc.want)
			}
		})
	}
}
