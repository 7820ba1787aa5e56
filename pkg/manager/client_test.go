// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/version"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:7", certificate-authority: ca.crt}}]
users: [{name: a, user: {tokenFile: token}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`

func connection(kubeconfig string) v1alpha1.ClientConnectionConfiguration {
	return v1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig, QPS: new(float32(12.5)), Burst: new(int32(34))}
}

func TestRESTConfig(t *testing.T) {
	file := write(t, kubeconfig)
	dir := filepath.Dir(file) + "/"
	for name, content := range map[string]string{"ca.crt": "certificate", "token": "secret"} {
		if err := os.WriteFile(dir+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := restConfig(connection(file))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:7" || config.CAFile != dir+"ca.crt" || config.BearerTokenFile != dir+"token" {
		t.Errorf("the kubeconfig was read as %s", config)
	}
	if config.QPS != 12.5 || config.Burst != 34 {
		t.Errorf("qps and burst are %v and %v", config.QPS, config.Burst)
	}
	if want := Name + "/" + version.Version() + " ("; !strings.HasPrefix(config.UserAgent, want) {
		t.Errorf("user agent %q does not begin with %q", config.UserAgent, want)
	}
	// controller-runtime chooses protobuf by kind, but only when no content type is set.
	if config.ContentType != "" {
		t.Errorf("the content type is %q", config.ContentType)
	}
}

func TestRESTConfigRejects(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", write(t, kubeconfig)) // must be ignored
	for name, tc := range map[string]struct{ file, want string }{
		"none":       {"", "no kubeconfig is set (--kubeconfig, clientConnection.kubeconfig) and this is not a pod: unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"},
		"missing":    {"testdata/none", "kubeconfig testdata/none (--kubeconfig, clientConnection.kubeconfig): stat testdata/none: no such file or directory"},
		"empty":      {write(t, ""), "kubeconfig FILE (--kubeconfig, clientConnection.kubeconfig): it has no cluster"},
		"no context": {write(t, strings.Replace(kubeconfig, "current-context: a", "current-context: b", 1)), "kubeconfig FILE (--kubeconfig, clientConnection.kubeconfig): invalid configuration: [context was not found for specified context: b, cluster has no server defined]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := restConfig(connection(tc.file))
			if err == nil {
				t.Fatal("no error")
			}
			if want := strings.ReplaceAll(tc.want, "FILE", tc.file); err.Error() != want {
				t.Errorf("got  %s\nwant %s", err, want)
			}
		})
	}
}

var (
	gardens = schema.GroupVersion{Group: "gardens", Version: "v1"}
	ponds   = schema.GroupVersion{Group: "ponds", Version: "v1"}
)

// status responds with an API error of the given code.
func status(w http.ResponseWriter, code int) {
	http.Error(w, http.StatusText(code), code)
}

func TestWaitForAPIs(t *testing.T) {
	for name, tc := range map[string]struct {
		// handler responds to the n-th request, counted from 1.
		handler func(n int32, w http.ResponseWriter, path string)
		// want is the error, with the server as SERVER. Empty: none.
		want string
	}{
		"all there": {func(int32, http.ResponseWriter, string) {}, ""},
		"appears": {func(n int32, w http.ResponseWriter, path string) {
			if n < 10 && path == "/apis/ponds/v1" {
				status(w, http.StatusNotFound)
			}
		}, ""},
		"version is forbidden": {func(_ int32, w http.ResponseWriter, path string) {
			if path == "/version" {
				status(w, http.StatusForbidden)
			}
		}, ""},
		"not served": {func(_ int32, w http.ResponseWriter, path string) {
			if path == "/apis/ponds/v1" {
				status(w, http.StatusNotFound)
			}
		}, "API server SERVER: ponds/v1 is not served: does its APIService exist? (gave up after 100ms)"},
		"not available": {func(_ int32, w http.ResponseWriter, path string) {
			if path == "/apis/gardens/v1" {
				status(w, http.StatusServiceUnavailable)
			}
		}, "API server SERVER: gardens/v1: the server is currently unable to handle the request (gave up after 100ms)"},
		"unauthorized": {func(_ int32, w http.ResponseWriter, path string) {
			status(w, http.StatusUnauthorized)
		}, "API server SERVER: the server has asked for the client to provide credentials (gave up after 100ms)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tc.handler(n.Add(1), w, r.URL.Path)
			}))
			defer server.Close()
			timeout := 100 * time.Millisecond
			if tc.want == "" {
				timeout = time.Minute
			}
			err := waitForAPIs(t.Context(), &rest.Config{Host: server.URL, QPS: -1, Transport: server.Client().Transport}, []schema.GroupVersion{gardens, ponds}, time.Millisecond, timeout)
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), server.URL, "SERVER")
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestWaitForAPIsUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	var out bytes.Buffer
	ctx := logr.NewContext(t.Context(), newLogger(&out, v1alpha1.LogConfiguration{}, 0))
	err := waitForAPIs(ctx, &rest.Config{Host: server.URL}, nil, time.Millisecond, 50*time.Millisecond)
	want := "API server " + server.URL + ": dial tcp " + strings.TrimPrefix(server.URL, "http://") + ": connect: connection refused (gave up after 50ms)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got := strings.Count(out.String(), "Waiting for the API server"); got != 1 {
		t.Errorf("the same reason was logged %d times:\n%s", got, &out)
	}
}

func TestWaitForAPIsCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	err := waitForAPIs(t.Context(), &rest.Config{Host: server.URL}, nil, time.Millisecond, time.Hour)
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), "API server "+server.URL+": tls: ") {
		t.Errorf("got %v", err)
	}
}

func TestWaitForAPIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		status(w, http.StatusServiceUnavailable)
	}))
	defer server.Close()
	err := waitForAPIs(ctx, &rest.Config{Host: server.URL}, nil, time.Millisecond, time.Hour)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
