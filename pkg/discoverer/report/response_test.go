// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"
)

func TestIsSilence(t *testing.T) {
	dial := func(cause error) error {
		return &url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect: %w", cause)}}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"refused":                   {dial(syscall.ECONNREFUSED), true},
		"reset":                     {dial(syscall.ECONNRESET), true},
		"no route to the host":      {dial(syscall.EHOSTUNREACH), true},
		"no route to the network":   {dial(syscall.ENETUNREACH), true},
		"a timeout of TCP":          {dial(syscall.ETIMEDOUT), true},
		"a deadline":                {&url.Error{Op: "Get", URL: "https://h", Err: context.DeadlineExceeded}, true},
		"closed without a response": {&url.Error{Op: "Get", URL: "https://h", Err: io.EOF}, true},
		"nothing":                   {nil, false},
		"canceled here":             {&url.Error{Op: "Get", URL: "https://h", Err: context.Canceled}, false},
		"no permission to connect":  {dial(syscall.EACCES), false},
		"no ports left here":        {dial(syscall.EADDRNOTAVAIL), false},
		"too many open files here":  {dial(syscall.EMFILE), false},
		"an unknown host":           {&url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "h", IsNotFound: true}}}, false},
		"a DNS server that is dead": {&url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "h", IsTimeout: true}}}, false},
		"a proxy that is dead":      {&url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}}, false},
		"a SOCKS proxy":             {&url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "socks connect", Err: syscall.ECONNREFUSED}}, false},
		"a certificate":             {&url.Error{Op: "Get", URL: "https://h", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, false},
		"no TLS":                    {&url.Error{Op: "Get", URL: "https://h", Err: tls.RecordHeaderError{Msg: "no TLS"}}, false},
		"an unknown error":          {&url.Error{Op: "Get", URL: "https://h", Err: errors.New("x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsSilence(tc.err); got != tc.want {
				t.Errorf("silence = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestIsSilenceOfRequests checks errors as the HTTP client returns them.
func TestIsSilenceOfRequests(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	proxy := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: closed})}}
	for name, tc := range map[string]struct {
		client *http.Client
		url    string
		header string
		want   bool
	}{
		"nothing listens":             {&http.Client{}, "http://" + closed, "", true},
		"nothing comes":               {&http.Client{Timeout: 50 * time.Millisecond}, server.URL, "", true},
		"no proxy listens":            {proxy, "https://" + server.Listener.Addr().String(), "", false},
		"a token with a line break":   {&http.Client{}, server.URL, "Bearer a\nb", false},
		"HTTPS to a server without":   {&http.Client{}, "https://" + server.Listener.Addr().String(), "", false},
		"a scheme that is not served": {&http.Client{}, "ftp://" + closed, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tc.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if tc.header != "" {
				request.Header.Set("Authorization", tc.header)
			}
			response, err := tc.client.Do(request)
			if err == nil {
				_ = response.Body.Close()
				t.Fatal("the request succeeded")
			}
			if got := IsSilence(err); got != tc.want {
				t.Errorf("silence of %v = %t, want %t", err, got, tc.want)
			}
		})
	}
}
