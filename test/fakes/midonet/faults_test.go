// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// post creates a chain and returns the status code, or 0 if the connection was closed.
func post(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url+Root+"/chains", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", vendor("Chain-v1"))
	resp, err := client.Do(req)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			t.Errorf("cut with %v, want EOF", err)
		}
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults []Fault
		codes  []int
		chains int
	}{
		{"none", nil, []int{201, 201}, 2},
		{"a code", []Fault{{Status: 503}}, []int{503, 503}, 0},
		{"a number of times", []Fault{{Status: 503, Times: 2}}, []int{503, 503, 201}, 1},
		{"after some", []Fault{{Status: 500, Skip: 1, Times: 1}}, []int{201, 500, 201}, 2},
		{"of a method", []Fault{{Method: "GET", Status: 500}}, []int{201}, 1},
		{"of a path", []Fault{{Path: "/bridges", Status: 500}}, []int{201}, 1},
		{"of this path", []Fault{{Path: "/chains", Method: "POST", Status: 500}}, []int{500}, 0},
		{"the first wins", []Fault{{Status: 500, Times: 1}, {Status: 502}}, []int{500, 502}, 0},
		{"cut before", []Fault{{Cut: CutRequest, Times: 1}}, []int{0, 201}, 1},
		{"cut after", []Fault{{Cut: CutResponse, Times: 1}}, []int{0, 201}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, url := start(t, Options{})
			for _, f := range tc.faults {
				if err := s.Inject(f); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range tc.codes {
				if got := post(t, url); got != want {
					t.Errorf("request %d: %d, want %d", i+1, got, want)
				}
			}
			s.Heal()
			if got := len(read[[]any](t, url, "/chains")); got != tc.chains {
				t.Errorf("%d chains were made, want %d", got, tc.chains)
			}
		})
	}
}

// TestLatency checks that latencies add up, and apply before any other fault.
func TestLatency(t *testing.T) {
	s, url := start(t, Options{})
	waited := time.Duration(0)
	s.wait = func(_ context.Context, d time.Duration) { waited += d }
	for _, f := range []Fault{{Latency: time.Hour}, {Latency: time.Minute, Status: 500}} {
		if err := s.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := post(t, url); got != 500 {
		t.Errorf("code %d, want 500", got)
	}
	if waited != time.Hour+time.Minute {
		t.Errorf("waited %s, want 1h1m", waited)
	}
}

// TestLatencyEndsWithTheClient checks that a canceled request ends the latency, and changes nothing.
func TestLatencyEndsWithTheClient(t *testing.T) {
	s, url := start(t, Options{})
	if err := s.Inject(Fault{Latency: time.Hour}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.wait = func(c context.Context, d time.Duration) { cancel(); wait(c, d) }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+Root+"/chains", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the request got a response")
	}
	if len(s.Content()) != 2 {
		t.Errorf("the server has %v, want the two hosts", s.Content())
	}
}

func TestDecodeFault(t *testing.T) {
	for _, tc := range []struct{ name, data, wrong string }{
		{"code", `{"method":"POST","path":"/chains","status":503,"times":3}`, ""},
		{"latency", `{"latency":"5ms"}`, ""},
		{"cut", `{"cut":"answer","skip":2}`, ""},
		{"nothing", `{}`, "needs latency, status or cut"},
		{"unknown field", `{"code":503}`, "code"},
		{"broken", `{`, "fault"},
		{"code out of range", `{"status":99}`, "from 200 to 599"},
		{"unknown cut", `{"cut":"both"}`, "cut"},
		{"negative", `{"status":500,"times":-1}`, "negative"},
		{"latency without unit", `{"latency":"5"}`, "latency"},
		{"negative latency", `{"latency":"-5s"}`, "latency"},
		{"path without slash", `{"status":500,"path":"chains"}`, "begin with /"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := decodeFault([]byte(tc.data))
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("error %v, want one with %q", err, tc.wrong)
			}
		})
	}
}

// TestPages checks that the HTTP endpoints of faults do the same as the methods.
func TestPages(t *testing.T) {
	s, url := start(t, Options{Username: "admin", Password: "open"})
	call := func(method, path, body string, want int) string {
		t.Helper()
		req, err := http.NewRequest(method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, data, want)
		}
		return string(data)
	}
	var host struct{ ID string }
	if err := json.Unmarshal([]byte(call("PUT", "/_fake/hosts/node-z", "", 200)), &host); err != nil || host.ID != HostID("node-z") {
		t.Errorf("host %+v, want id %s", host, HostID("node-z"))
	}
	if got := call("GET", "/_fake/hosts", "", 200); !strings.Contains(got, "node-z") || strings.Contains(got, "Chain") {
		t.Errorf("hosts are %s", got)
	}
	call("POST", "/_fake/faults", `{"path":"/chains","status":503,"latency":"1ms"}`, 204)
	call("POST", "/_fake/faults", `{"nothing":1}`, 400)
	if got := call("GET", "/_fake/faults", "", 200); !strings.Contains(got, `"status": 503`) || !strings.Contains(got, `"latency": "1ms"`) {
		t.Errorf("faults are %s", got)
	}
	if got := post(t, url); got != 503 {
		t.Errorf("code %d, want 503", got)
	}
	call("DELETE", "/_fake/faults", "", 204)
	if got := post(t, url); got != 401 {
		t.Errorf("code %d, want 401", got)
	}
	if got := call("GET", "/_fake/requests", "", 200); !strings.Contains(got, "no token") || !strings.Contains(got, `"code": 503`) {
		t.Errorf("requests are %s", got)
	}
	if got := s.Writes(); got != 2 {
		t.Errorf("%d writes, want 2", got)
	}
	call("DELETE", "/_fake/requests", "", 204)
	if len(s.Requests()) != 0 || len(s.Rejections()) != 0 {
		t.Errorf("requests %v and rejections %v are left", s.Requests(), s.Rejections())
	}
	if got := call("GET", "/_fake/", "", 200); !strings.Contains(got, "hosts (3)") {
		t.Errorf("listing is %s", got)
	}
	s.mu.Lock()
	s.store.add("Chain", fresh, "", -1, fields{"id": fresh})
	s.tokens["x"] = time.Now().Add(time.Hour)
	s.mu.Unlock()
	if got := call("GET", "/_fake/content", "", 200); !strings.Contains(got, fresh) {
		t.Errorf("content is %s", got)
	}
	call("DELETE", "/_fake/content", "", 204)
	if got := call("GET", "/_fake/content", "", 200); strings.Contains(got, fresh) || !strings.Contains(got, "node-z") {
		t.Errorf("content is %s, want the hosts alone", got)
	}
	call("DELETE", "/_fake/tokens", "", 204)
	if len(s.tokens) != 0 {
		t.Error("tokens are left")
	}
	call("GET", "/_fake/other", "", 404)
}

// TestWithoutIDs checks that ids do not create new counters.
func TestWithoutIDs(t *testing.T) {
	for path, want := range map[string]string{
		"/chains":                                   "/chains",
		"/chains/" + chain + "/rules":               "/chains/*/rules",
		"/bridges/" + bridge + "/mac_table":         "/bridges/*/mac_table",
		"/hosts/" + HostID("a") + "/ports/" + bPort: "/hosts/*/ports/*",
	} {
		if got := withoutIDs(path); got != want {
			t.Errorf("%s is counted as %s, want %s", path, got, want)
		}
	}
}
