// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestProxyOfTheEnvironment runs itself in a process with another environment, because net/http reads that once.
func TestProxyOfTheEnvironment(t *testing.T) {
	const proxy = "http://proxy.example:3128"
	if os.Getenv("HTTPS_PROXY") == proxy {
		req, err := http.NewRequest(http.MethodGet, "https://keystone.example/v3", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, bundle := range []string{"", "-----BEGIN CERTIFICATE-----"} {
			if got, err := dialer(bundle).Proxy(req); err != nil || got == nil || got.String() != proxy {
				t.Errorf("proxy %v, %v", got, err)
			}
		}
		return
	}
	again := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	again.Env = []string{"HTTPS_PROXY=" + proxy}
	if text, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

// The certificate of a cloud is verified unless the Secret specifies otherwise.
func TestVerification(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		credentials Credentials
		fails       bool
	}{
		"verified":     {Credentials{}, true},
		"not verified": {Credentials{Insecure: true}, false},
	} {
		d := dialer(c.credentials.trust())
		t.Cleanup(d.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := d.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLongResponsesAreTruncated(t *testing.T) {
	ended := false
	b := &body{ReadCloser: io.NopCloser(strings.NewReader("0123456789")), left: 10, end: func() { ended = true }}
	if text, err := io.ReadAll(b); string(text) != "0123456789" || err != nil {
		t.Errorf("at the limit: %q, %v", text, err)
	}
	b = &body{ReadCloser: io.NopCloser(strings.NewReader("0123456789")), left: 9, end: func() { ended = true }}
	if _, err := io.ReadAll(b); !errors.Is(err, errLongResponse) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := b.Close(); err != nil || !ended {
		t.Errorf("closed %v, %v", ended, err)
	}
}

func TestClientsAlwaysHaveATimeout(t *testing.T) {
	o, err := Options{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if c := httpClient(nil, nil, o); c.Timeout <= o.Timeout || o.Timeout != DefaultTimeout {
		t.Errorf("timeout %s, of an attempt %s", c.Timeout, o.Timeout)
	}
	if _, err := (Options{QPS: -1}).complete(); err == nil {
		t.Error("a negative rate is accepted")
	}
}
