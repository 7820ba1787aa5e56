// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// logins is how many logins the fake has seen.
func logins(s *fake.Server) int {
	n := 0
	for c, count := range s.Requests() {
		if c.Path == "/login" {
			n += count
		}
	}
	return n
}

// TestTokens checks that one login serves all requests until the token expires or the server rejects it.
func TestTokens(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server, c, _ := connect(t,
		fake.Options{Username: "admin", Password: "open", Project: "kube", TokenLifetime: time.Hour, Now: clock.Now},
		Options{Credentials: Credentials{Username: "admin", Password: "open", Project: "kube"}})
	c.clock = clock
	get := func(want int) {
		t.Helper()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := c.Hosts(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := logins(server); got != want {
			t.Errorf("%d logins, want %d", got, want)
		}
	}
	get(1)
	clock.Step(time.Hour - expiryMargin - time.Second)
	get(1)
	clock.Step(time.Second)
	get(2)
	if got := server.Rejections(); len(got) > 0 {
		t.Errorf("the server rejected %v", got)
	}
	server.RevokeTokens()
	get(3)
}

// TestRejectedLogin checks that a rejected user is not retried for a while, and that no error contains the password.
func TestRejectedLogin(t *testing.T) {
	clock := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	server, c, _ := connect(t, fake.Options{Username: "admin", Password: "open"}, Options{Credentials: Credentials{Username: "admin", Password: "s3cret"}})
	c.clock = clock
	for range 3 {
		_, err := c.Hosts(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "list Host: log in: 401 Unauthorized: ") || strings.Contains(err.Error(), "s3cret") || IsTransient(err) {
			t.Errorf("error %v, want a rejected login without the password", err)
		}
	}
	if got := logins(server); got != 1 {
		t.Errorf("%d logins, want 1", got)
	}
	clock.Step(loginPause)
	if _, err := c.Hosts(t.Context()); err == nil || logins(server) != 2 {
		t.Errorf("%d logins after the pause, want 2", logins(server))
	}
}

// TestBusyLogin checks that a login that failed because the server is busy is retried, also for a POST, because nothing was sent
// yet.
func TestBusyLogin(t *testing.T) {
	server, c, _ := connect(t, fake.Options{Username: "admin", Password: "open"}, Options{Credentials: Credentials{Username: "admin", Password: "open"}})
	if err := server.Inject(fake.Fault{Path: "/login", Status: 500, Times: 2}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), resource(t, "Chain", "", `{"id":"`+chainID+`"}`)); err != nil {
		t.Error(err)
	}
}

// TestSecretsStay checks that a server that echoes secrets, or redirects the client, does not obtain them.
func TestSecretsStay(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token was sent elsewhere") }))
	defer elsewhere.Close()
	code := http.StatusBadRequest
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			_, _ = w.Write([]byte(`{"key":"t0ken","expires":"never"}`))
			return
		}
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"message":"token %s of s3cret\nis bad","code":400}`, r.Header.Get("X-Auth-Token"))
	}))
	defer web.Close()
	credentials := Credentials{Username: "admin", Password: "s3cret"}
	c, err := New(Options{URL: web.URL, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Hosts(t.Context())
	if want := "list Host: 400 Bad Request: token [redacted] of [redacted] is bad"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	code = http.StatusTemporaryRedirect
	if err := c.Delete(t.Context(), Ref{Kind: "Chain", ID: chainID}); StatusOf(err) != code {
		t.Errorf("error %v, want the redirect", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if got := fmt.Sprintf(verb, credentials); strings.Contains(got, "s3cret") {
			t.Errorf("credentials print as %s", got)
		}
	}
}

func TestDecodeToken(t *testing.T) {
	end := time.Date(2026, 7, 2, 20, 9, 1, 0, time.UTC)
	for _, tc := range []struct {
		data    string
		ok      bool
		expires time.Time
	}{
		{`{"key":"k","expires":"2026-07-02T20:09:01Z"}`, true, end},
		{`{"key":"k","expires":"2026-07-02T22:09:01.000+02:00"}`, true, end},
		{`{"key":"k","expires":"Thu, 02 Jul 2026 20:09:01 GMT"}`, true, end},
		{`{"key":"k","expires":1783022941000}`, true, end},
		{`{"key":"k","expires":"soon"}`, true, time.Time{}},
		{`{"key":"k","expires":1e300}`, true, time.Time{}},
		{`{"key":"k"}`, true, time.Time{}},
		{`{"key":""}`, false, time.Time{}},
		{`{"key":"a b"}`, false, time.Time{}},
		{`[]`, false, time.Time{}},
		{``, false, time.Time{}},
	} {
		token, expires, err := decodeToken([]byte(tc.data))
		if (err == nil) != tc.ok || !expires.Equal(tc.expires) || tc.ok && token != "k" {
			t.Errorf("%s: %q until %s, %v", tc.data, token, expires, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		options Options
		wrong   string
	}{
		{Options{URL: "http://midonet:8181/midonet-api/"}, ""},
		{Options{URL: "https://midonet"}, ""},
		{Options{}, "must be like"},
		{Options{URL: "ftp://midonet"}, "must be like"},
		{Options{URL: "http://admin:s3cret@midonet"}, "user or a password"},
		{Options{URL: "http://admin:s3cret@midonet:port"}, "cannot be parsed"},
		{Options{URL: "http://midonet?x=y"}, "end with the path"},
		{Options{URL: "http://midonet", Timeout: -1}, "negative"},
		{Options{URL: "http://midonet", MinBackoff: 2, MaxBackoff: 1}, "below"},
		{Options{URL: "http://midonet", Credentials: Credentials{Password: "s3cret"}}, "no user name"},
	} {
		_, err := New(tc.options)
		if (err == nil) != (tc.wrong == "") || err != nil && (!strings.Contains(err.Error(), tc.wrong) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: error %v, want one with %q", tc.options.URL, err, tc.wrong)
		}
	}
}
