// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// apiServer responds to /version for one token, as an API server does.
func apiServer(t *testing.T, token string, respond http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" || r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		respond(w, r)
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func version136(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`))
}

func TestProbeWorkload(t *testing.T) {
	const token = "sekret-token"
	good := apiServer(t, token, version136)
	wrong := rest.CopyConfig(good)
	wrong.BearerToken = "other-token"
	unverified := rest.CopyConfig(good)
	unverified.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	other := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other = true }))
	t.Cleanup(elsewhere.Close)
	closed := httptest.NewTLSServer(nil)
	closed.Close()
	for name, c := range map[string]struct {
		config *rest.Config
		want   string
	}{
		"answers":     {good, "True/Reachable"},
		"unverified":  {unverified, "True/Insecure"},
		"refused":     {wrong, "False/CredentialsRefused"},
		"broken":      {apiServer(t, token, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }), "False/Unreachable"},
		"no response": {&rest.Config{Host: closed.URL, BearerToken: token}, "False/Unreachable"},
		"untrusted":   {&rest.Config{Host: good.Host, BearerToken: token}, "False/Unreachable"},
		"something":   {apiServer(t, token, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), "False/NoAPIServer"},
		"endless": {apiServer(t, token, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"padding":"` + strings.Repeat("v", maxVersion) + `","gitVersion":"v1.36.3"}`))
		}), "False/NoAPIServer"},
		"leads elsewhere": {apiServer(t, token, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}), "False/Unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			view := probeWorkload(t.Context(), c.config)
			condition := view.condition()
			if got := string(condition.Status) + "/" + condition.Reason; got != c.want || strings.Contains(condition.Message, token) {
				t.Errorf("got %s: %s, want %s", got, condition.Message, c.want)
			}
		})
	}
	if other {
		t.Error("the credentials were carried to another server")
	}
}
