// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

func TestHandler(t *testing.T) {
	held := func(_ context.Context, key types.NamespacedName) (bool, string, error) {
		switch key.String() {
		case "shop/held":
			return true, "Deorbit: Pods: 2 remain", nil
		case "shop/unknown":
			return false, "", errors.New("password in the error")
		default:
			return false, "", nil
		}
	}
	server := Handler(held, logr.Discard())
	request := func(name string) string {
		return `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"BeforeClusterDeleteRequest","settings":{},` +
			`"cluster":{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"namespace":"shop","name":"` + name + `"},"spec":{}}}`
	}
	const discovery = `{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryRequest"}`
	for name, test := range map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"discovery": {
			"POST", discoveryPath, discovery, http.StatusOK,
			`{"kind":"DiscoveryResponse","apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","status":"Success","handlers":[{"name":"deorbit",` +
				`"requestHook":{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","hook":"BeforeClusterDelete"},"timeoutSeconds":10,"failurePolicy":"Fail"}]}`,
		},
		"a cluster that is retained": {
			"POST", deletePath, request("held"), http.StatusOK,
			`{"kind":"BeforeClusterDeleteResponse","apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","status":"Success","message":"Deorbit: Pods: 2 remain","retryAfterSeconds":10}`,
		},
		"a cluster that is not": {
			"POST", deletePath, request("other"), http.StatusOK,
			`{"kind":"BeforeClusterDeleteResponse","apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","status":"Success","retryAfterSeconds":0}`,
		},
		"it is unknown": {
			"POST", deletePath, request("unknown"), http.StatusOK,
			`{"kind":"BeforeClusterDeleteResponse","apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","status":"Failure","message":"whether the cluster is empty is unknown, see the log of the controller manager","retryAfterSeconds":0}`,
		},
		"no name":         {"POST", deletePath, request(""), http.StatusBadRequest, "cluster.metadata has no name or no namespace"},
		"another kind":    {"POST", deletePath, discovery, http.StatusBadRequest, "the body is not a BeforeClusterDeleteRequest of hooks.runtime.cluster.x-k8s.io/v1alpha1"},
		"another version": {"POST", discoveryPath, strings.Replace(discovery, "v1alpha1", "v2", 1), http.StatusBadRequest, "the body is not a DiscoveryRequest of hooks.runtime.cluster.x-k8s.io/v1alpha1"},
		"no JSON":         {"POST", discoveryPath, "{", http.StatusBadRequest, "the body is not a DiscoveryRequest of hooks.runtime.cluster.x-k8s.io/v1alpha1"},
		"too large":       {"POST", discoveryPath, strings.Repeat(" ", maxBody+1), http.StatusRequestEntityTooLarge, "a request has at most 4194304 bytes"},
		"another method":  {"GET", discoveryPath, "", http.StatusMethodNotAllowed, "Method Not Allowed"},
		"another hook":    {"POST", Prefix + "v1alpha1/beforeclustercreate/deorbit", discovery, http.StatusNotFound, "404 page not found"},
	} {
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body)))
		if got := strings.TrimSpace(recorder.Body.String()); recorder.Code != test.code || got != test.want {
			t.Errorf("%s: %d %s\nwant %d %s", name, recorder.Code, got, test.code, test.want)
		}
	}
}
