// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// TestAtOnce checks that a rejection with Retry-After is returned at once to those who ask for that, and repeated for all others.
func TestAtOnce(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for name, request := range map[string]func(context.Context, *Client) error{
			"list": func(ctx context.Context, c *Client) error {
				_, err := c.Services("shop").List(ctx, metav1.ListOptions{})
				return err
			},
			"watch": func(ctx context.Context, c *Client) error {
				events, err := c.Services("shop").Watch(ctx, metav1.ListOptions{})
				if err == nil {
					events.Stop()
				}
				return err
			},
		} {
			for _, atOnce := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d for a %s, at once %t", status, name, atOnce), func(t *testing.T) {
					requests := 0
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						if requests++; requests == 1 {
							w.Header().Set("Retry-After", "0")
							w.WriteHeader(status)
							return
						}
						w.Header().Set("Content-Type", runtime.ContentTypeJSON)
						_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "ServiceList"}`))
					}))
					t.Cleanup(server.Close)
					c, err := New(&rest.Config{Host: server.URL})
					if err != nil {
						t.Fatal(err)
					}
					ctx, want := t.Context(), 2
					if atOnce {
						ctx, want = AtOnce(ctx), 1
					}
					err = request(ctx, c)
					if rejected := apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err); rejected != atOnce || !atOnce && err != nil {
						t.Errorf("error = %v, want a rejection: %t", err, atOnce)
					}
					if requests != want {
						t.Errorf("the server got %d requests, want %d", requests, want)
					}
				})
			}
		}
	}
}
