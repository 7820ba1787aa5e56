// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// TestRetries checks which requests are retried: reads, replacements and deletions after any temporary error, a POST only if it
// cannot have been processed.
func TestRetries(t *testing.T) {
	chain := Ref{Kind: "Chain", ID: chainID}
	bridge := Resource{Ref: Ref{Kind: "Bridge", ID: bridgeID}, Body: []byte(`{"id":"` + bridgeID + `"}`)}
	calls := map[string]func(*Client, context.Context) error{
		"POST": func(c *Client, ctx context.Context) error {
			return c.Create(ctx, Resource{Ref: chain, Body: []byte(`{"id":"` + chainID + `"}`)})
		},
		"GET":    func(c *Client, ctx context.Context) error { _, err := c.List(ctx, Query{Kind: "Chain"}); return err },
		"DELETE": func(c *Client, ctx context.Context) error { return c.Delete(ctx, Ref{Kind: "Router", ID: routerID}) },
		"PUT":    func(c *Client, ctx context.Context) error { return c.Update(ctx, bridge) },
	}
	for _, tc := range []struct {
		method string
		fault  fake.Fault
		sent   int
		status int // of the error; 0 with ok: none
		ok     bool
	}{
		{"POST", fake.Fault{Status: 503, Times: 2}, 3, 0, true},
		{"POST", fake.Fault{Status: 429, Times: 2}, 3, 0, true},
		{"POST", fake.Fault{Status: 500}, 1, 500, false},
		{"POST", fake.Fault{Status: 502}, 1, 502, false},
		{"POST", fake.Fault{Cut: fake.CutRequest}, 1, 0, false},
		{"POST", fake.Fault{Cut: fake.CutResponse}, 1, 0, false},
		{"POST", fake.Fault{Status: 409}, 1, 409, false},
		{"POST", fake.Fault{Status: 503}, 4, 503, false},
		{"GET", fake.Fault{Status: 500, Times: 3}, 4, 0, true},
		{"GET", fake.Fault{Status: 500}, 4, 500, false},
		{"GET", fake.Fault{Status: 404}, 1, 404, false},
		{"GET", fake.Fault{Status: 501}, 1, 501, false},
		{"GET", fake.Fault{Status: 302}, 1, 302, false},
		{"DELETE", fake.Fault{Cut: fake.CutResponse, Times: 1}, 2, 0, true},
		{"DELETE", fake.Fault{Status: 502, Times: 1}, 2, 0, true},
		{"DELETE", fake.Fault{Status: 400}, 1, 400, false},
		{"PUT", fake.Fault{Status: 500, Times: 1}, 2, 0, true},
		{"PUT", fake.Fault{Cut: fake.CutResponse, Times: 1}, 2, 0, true},
		{"PUT", fake.Fault{Status: 409}, 1, 409, false},
	} {
		t.Run(fmt.Sprintf("%s %+v", tc.method, tc.fault), func(t *testing.T) {
			server, c, pauses := connect(t, fake.Options{}, Options{})
			if err := c.Create(t.Context(), bridge); err != nil {
				t.Fatal(err)
			}
			server.ResetRequests()
			if err := server.Inject(tc.fault); err != nil {
				t.Fatal(err)
			}
			// A kept connection that is cut makes net/http itself send a GET again.
			c.http.Transport.(*http.Transport).DisableKeepAlives = true
			c.http.CloseIdleConnections()
			err := calls[tc.method](c, t.Context())
			if (err == nil) != tc.ok || StatusOf(err) != tc.status {
				t.Errorf("error %v, want status %d", err, tc.status)
			}
			sent := 0
			for _, n := range server.Requests() {
				sent += n
			}
			if sent != tc.sent {
				t.Errorf("sent %d times, want %d", sent, tc.sent)
			}
			want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}[:tc.sent-1]
			if !slices.Equal(*pauses, want) {
				t.Errorf("pauses %v, want %v", *pauses, want)
			}
		})
	}
}

// TestRetryAfter checks that Retry-After of a server is respected, up to the longest delay.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"1": time.Second, "100": 2 * time.Second, "x": 100 * time.Millisecond, "-1": 100 * time.Millisecond} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		c, err := New(Options{URL: web.URL, Attempts: 2})
		if err != nil {
			t.Fatal(err)
		}
		pauses := noPauses(c)
		_, _ = c.Hosts(t.Context())
		if !slices.Equal(*pauses, []time.Duration{want}) {
			t.Errorf("Retry-After %s: pauses %v, want %s", header, *pauses, want)
		}
		web.Close()
	}
}

// TestBeforeWrite checks that BeforeWrite is called before each attempt of a write, and only of writes, and can reject it.
func TestBeforeWrite(t *testing.T) {
	lost := errors.New("the lease is lost")
	requests := 0
	server, c, _ := connect(t, fake.Options{}, Options{BeforeWrite: func() error {
		if requests++; requests > 2 {
			return lost
		}
		return nil
	}})
	if err := server.Inject(fake.Fault{Status: 503}); err != nil {
		t.Fatal(err)
	}
	err := c.Delete(t.Context(), Ref{Kind: "Chain", ID: chainID})
	if !errors.Is(err, lost) || IsTransient(err) {
		t.Errorf("error %v, want that the lease is lost", err)
	}
	if got := server.Writes(); got != 2 {
		t.Errorf("%d writes were sent, want 2", got)
	}
	server.Heal()
	if _, err := c.Hosts(t.Context()); err != nil || requests != 3 {
		t.Errorf("a read queried %d times, %v", requests-3, err)
	}
}

// TestTimeout checks that a call ends with its timeout or its context, and reports which.
func TestTimeout(t *testing.T) {
	server, c, _ := connect(t, fake.Options{}, Options{Timeout: time.Millisecond, Attempts: 2})
	if err := server.Inject(fake.Fault{Latency: time.Hour}); err != nil {
		t.Fatal(err)
	}
	err := c.Delete(t.Context(), Ref{Kind: "Chain", ID: chainID})
	if !errors.Is(err, context.DeadlineExceeded) || !IsTransient(err) {
		t.Errorf("error %v, want a timeout, which is transient", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Hosts(ctx); !errors.Is(err, context.Canceled) || IsTransient(err) {
		t.Errorf("error %v, want that the call was cancelled", err)
	}
}

// An absent server is a temporary error, and each attempt is observed.
func TestObserve(t *testing.T) {
	var seen []string
	observe := func(kind, method string, code int, _ time.Duration) {
		seen = append(seen, fmt.Sprint(kind, method, code))
	}
	_, c, _ := connect(t, fake.Options{}, Options{Observe: observe, Attempts: 2})
	_, _ = c.Get(t.Context(), Ref{Kind: "Chain", ID: chainID})
	web := httptest.NewServer(nil)
	web.Close()
	anonymous, err := New(Options{URL: web.URL, Observe: observe, Attempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	noPauses(anonymous)
	err = anonymous.Create(t.Context(), resource(t, "Chain", "", `{"id":"`+chainID+`"}`))
	if !IsTransient(err) || !strings.HasPrefix(err.Error(), "create Chain "+chainID+": dial tcp") {
		t.Errorf("error %v, want one that names the chain", err)
	}
	if want := []string{"ChainGET404", "ChainPOST0", "ChainPOST0"}; !slices.Equal(seen, want) {
		t.Errorf("observed %v, want %v", seen, want)
	}
}
