// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// TestRejectsProtobuf checks that JSON is used only with an API server that rejects protobuf.
func TestRejectsProtobuf(t *testing.T) {
	for respond, want := range map[int]bool{
		http.StatusOK: false, http.StatusNotAcceptable: true, http.StatusNotFound: false, http.StatusForbidden: false, http.StatusInternalServerError: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/apis/core.gardener.cloud/v1beta1/projects" || r.Header.Get("Accept") != runtime.ContentTypeProtobuf {
				t.Errorf("requested %s as %s", r.URL.Path, r.Header.Get("Accept"))
			}
			w.WriteHeader(respond)
		}))
		defer server.Close()
		client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if got := rejectsProtobuf(t.Context(), client.RESTClient(), ownAPIs()[0].resource); got != want {
			t.Errorf("%d: %t", respond, got)
		}
	}
}
