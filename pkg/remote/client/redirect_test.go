// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestRedirect checks that no redirect is followed, by which the token would be sent to another server, and that the error names it.
func TestRedirect(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			requests := 0
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
			t.Cleanup(other.Close)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, strings.Replace(other.URL, "http://", "http://user:hunter2@", 1)+"/login?token=hunter2", status)
			}))
			t.Cleanup(server.Close)
			c, err := New(&rest.Config{Host: server.URL, BearerToken: "secret"})
			if err != nil {
				t.Fatal(err)
			}
			for name, request := range map[string]func() error{
				"list":  func() error { _, err := c.Services("shop").List(t.Context(), metav1.ListOptions{}); return err },
				"watch": func() error { _, err := c.Services("shop").Watch(t.Context(), metav1.ListOptions{}); return err },
			} {
				err := request()
				redirect, ok := errors.AsType[*RedirectError](err)
				if !ok || redirect.To != other.URL+"/login" {
					t.Errorf("error of a %s = %v, want a redirect to %s/login", name, err, other.URL)
				}
				if ok && strings.Contains(redirect.Error(), "hunter2") {
					t.Errorf("error of a %s = %v, which has credentials", name, redirect)
				}
			}
			if requests > 0 {
				t.Errorf("the other server got %d requests, want none", requests)
			}
		})
	}
}
