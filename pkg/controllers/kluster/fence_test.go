// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// sender records the methods of the requests that reach a server.
type sender struct{ methods []string }

func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	s.methods = append(s.methods, r.Method)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// body is that of a request. It has to be closed, although it is not read.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// TestFenced checks that changes need the fence, and that reads do not.
func TestFenced(t *testing.T) {
	closed := errors.New("this replica does not hold the Lease")
	for method, reads := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "POST": false, "PUT": false, "PATCH": false, "DELETE": false} {
		for name, fence := range map[string]error{"open": nil, "closed": closed} {
			t.Run(method+" "+name, func(t *testing.T) {
				server, content := &sender{}, &body{Reader: strings.NewReader("x")}
				transport, err := rest.TransportFor(FencedConfig(&rest.Config{Transport: server}, func() error { return fence }))
				if err != nil {
					t.Fatal(err)
				}
				request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1/", content)
				if err != nil {
					t.Fatal(err)
				}
				response, err := transport.RoundTrip(request)
				if err == nil {
					_ = response.Body.Close()
				}
				sent := reads || fence == nil
				if sent && err != nil || !sent && !errors.Is(err, closed) {
					t.Errorf("error = %v, want sent: %t", err, sent)
				}
				if (len(server.methods) == 1) != sent {
					t.Errorf("sent %q, want sent: %t", server.methods, sent)
				}
				if !sent && !content.closed {
					t.Error("the body is not closed")
				}
			})
		}
	}
}
