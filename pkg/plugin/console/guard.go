// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// contentPolicy allows the page to load only what the console serves, and no code or style inside of documents.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard admits the browser of the user, and nothing else that can connect to loopback: other users of the machine have neither the
// token nor the cookie, and pages of other sites have another origin, or another host after DNS rebinding.
type guard struct {
	port int
	// actions allows to change objects, with form as a token that only the page can read.
	actions bool
	form    string
	// cookie is its name. Browsers send cookies to all ports of a host, so that two consoles need two names.
	cookie, session string

	mu sync.Mutex
	// token is exchanged for the cookie once, then it is empty.
	token string
}

const (
	// actionPath is the path of requests that change objects.
	actionPath = "/api/action"
	// formHeader has the token of such requests. Pages of other sites can neither read it nor send the header.
	formHeader = "X-Groundskeeper-Token"
)

func newGuard(port int, actions bool) *guard {
	return &guard{port: port, actions: actions, cookie: fmt.Sprintf("groundskeeper-console-%d", port), session: rand.Text(),
		token: rand.Text(), form: rand.Text()}
}

// url returns the address that the user opens.
func (g *guard) url() string {
	return fmt.Sprintf("http://127.0.0.1:%d/?token=%s", g.port, g.token)
}

// protect passes requests on that are allowed; others get 403.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if reason := g.foreign(r); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.URL.Path == "/" {
			if g.redeem(token) {
				http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			} else if !g.known(r) {
				http.Error(w, "the token is not valid, or was used before: run kubectl groundskeeper console again", http.StatusForbidden)
				return
			}
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if !g.known(r) {
			http.Error(w, "open the URL that kubectl groundskeeper console printed", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost && subtle.ConstantTimeCompare([]byte(r.Header.Get(formHeader)), []byte(g.form)) != 1 {
			http.Error(w, "the request was not sent by the page", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign returns why a request does not come from the page, or "".
func (g *guard) foreign(r *http.Request) string {
	hosts := []string{fmt.Sprintf("127.0.0.1:%d", g.port), fmt.Sprintf("localhost:%d", g.port)}
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	changes := r.Method == http.MethodPost && r.URL.Path == actionPath
	switch {
	case changes && !g.actions:
		return "the console is read-only: run kubectl groundskeeper console --actions"
	case r.Method != http.MethodGet && !changes:
		return "only GET is allowed"
	case changes && (origin == "" || r.Header.Get("Content-Type") != "application/json"):
		return "the request was not sent by the page"
	case !slices.Contains(hosts, r.Host):
		return "the host is not that of the console"
	case origin != "" && origin != "http://"+r.Host:
		return "the origin is not the console"
	case r.URL.Path != "/" && site != "" && site != "same-origin" && site != "none":
		return "the request was sent by another site"
	}
	return ""
}

// redeem reports whether a token is the one of the URL, which it is only once.
func (g *guard) redeem(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

// known reports whether a request has the cookie.
func (g *guard) known(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.session)) == 1
}
