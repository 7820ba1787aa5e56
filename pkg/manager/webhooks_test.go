// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// pairFiles are the files of a certificate.
type pairFiles struct{ cert, key string }

func newPairFiles(t *testing.T) pairFiles {
	t.Helper()
	dir := t.TempDir()
	return pairFiles{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
}

// replace puts content into a file as one step.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func newPEM(t *testing.T) (certificate, key []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func webhooksOn(certificates v1alpha1.CertificatesConfiguration) v1alpha1.WebhooksConfiguration {
	config := v1alpha1.WebhooksConfiguration{Certificates: certificates}
	config.AddressConfiguration = v1alpha1.AddressConfiguration{BindAddress: "127.0.0.1", Port: new(int32(0))}
	return config
}

// trusting returns a client that trusts a certificate and connects again each time.
func trusting(certificate []byte) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

// accepted reports whether a client that trusts a certificate gets a response.
func accepted(url string, certificate []byte) error {
	response, err := trusting(certificate).Get(url)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestWebhookCertificateFiles checks that the certificate is loaded again when the files change, and that one without its key is
// not used.
func TestWebhookCertificateFiles(t *testing.T) {
	files := newPairFiles(t)
	first, firstKey := newPEM(t)
	replace(t, files.cert, first)
	replace(t, files.key, firstKey)
	server, err := newWebhookServer(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, webhooksOn(v1alpha1.CertificatesConfiguration{
		Mode: v1alpha1.CertificatesFiles, CertFile: files.cert, KeyFile: files.key,
	}), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := &readiness{}
	stop := server.serve(t.Context(), ready)
	url := "https://" + server.listener.Addr().String() + "/webhooks/validate-namespace-deletion"
	until := func(what string, condition func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	until("ready", func() bool { return ready.check() == nil })
	if err := accepted(url, first); err != nil {
		t.Fatal(err)
	}
	second, secondKey := newPEM(t)
	replace(t, files.cert, second)
	for range 5 { // the pair does not fit
		if err := accepted(url, first); err != nil {
			t.Fatalf("a half-written pair was taken: %v", err)
		}
	}
	replace(t, files.key, secondKey)
	until("the second certificate", func() bool { return accepted(url, second) == nil })
	stop()
	if err := accepted(url, second); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("it still serves: %v", err)
	}
}

// The Runtime Extension is served next to the webhooks, when the configuration enables it.
func TestRuntimeExtensionIsServed(t *testing.T) {
	config := &v1alpha1.ControllersConfiguration{}
	v1alpha1.SetDefaults_KlusterConfiguration(&config.Kluster)
	server := &rest.Config{Host: "https://127.0.0.1:1"}
	for range 2 {
		if hooks, err := newRuntimeExtension(t.Context(), server, config); hooks != nil || err != nil {
			t.Errorf("hooks %v, %v, want none", hooks, err)
		}
		config.Kluster.ClusterAPI.RuntimeExtension = new(true) // it needs the controllers as well
	}
	config.Kluster.Enabled, config.Kluster.ClusterAPI.Enabled = new(true), new(true)
	hooks, err := newRuntimeExtension(t.Context(), server, config)
	if err != nil || hooks == nil {
		t.Fatal(err)
	}
	files := newPairFiles(t)
	certificate, key := newPEM(t)
	replace(t, files.cert, certificate)
	replace(t, files.key, key)
	served, err := newWebhookServer(t.Context(), server, webhooksOn(v1alpha1.CertificatesConfiguration{
		Mode: v1alpha1.CertificatesFiles, CertFile: files.cert, KeyFile: files.key,
	}), false, hooks)
	if err != nil {
		t.Fatal(err)
	}
	defer served.listener.Close() //nolint:errcheck // it was never used
	for path, want := range map[string]int{
		"/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery": http.StatusOK, "/webhooks/validate-namespace-deletion": http.StatusBadRequest, "/other": http.StatusNotFound,
	} {
		recorder := httptest.NewRecorder()
		served.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path,
			strings.NewReader(`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"DiscoveryRequest"}`)))
		if recorder.Code != want {
			t.Errorf("%s: %d, want %d", path, recorder.Code, want)
		}
	}
}

func TestWebhookServerNamesTheProblem(t *testing.T) {
	files := newPairFiles(t)
	taken := httptest.NewServer(nil)
	defer taken.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(taken.URL, "http://"), ":")
	number := parsePort(t, port)
	onTaken := webhooksOn(v1alpha1.CertificatesConfiguration{Mode: v1alpha1.CertificatesSelfManaged})
	onTaken.Port = &number
	for name, tc := range map[string]struct {
		config v1alpha1.WebhooksConfiguration
		want   []string
	}{
		"no file":       {webhooksOn(v1alpha1.CertificatesConfiguration{Mode: v1alpha1.CertificatesFiles, CertFile: files.cert, KeyFile: files.key}), []string{"server.webhooks.certificates: ", files.cert}},
		"port is taken": {onTaken, []string{"server.webhooks: ", port, "address already in use"}},
	} {
		_, err := newWebhookServer(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, tc.config, false, nil)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
	}
}

func parsePort(t *testing.T, port string) int32 {
	t.Helper()
	address, err := parseAddress(":" + port)
	if err != nil {
		t.Fatal(err)
	}
	return *address.Port
}

// TestWebhookServerStopsGracefully checks that on shutdown the server accepts no new reviews and completes those in progress.
func TestWebhookServerStopsGracefully(t *testing.T) {
	files := newPairFiles(t)
	certificate, key := newPEM(t)
	replace(t, files.cert, certificate)
	replace(t, files.key, key)
	server, err := newWebhookServer(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, webhooksOn(v1alpha1.CertificatesConfiguration{
		Mode: v1alpha1.CertificatesFiles, CertFile: files.cert, KeyFile: files.key,
	}), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	arrived, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	server.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !first.CompareAndSwap(false, true) {
			return
		}
		close(arrived)
		<-release
		_, _ = w.Write([]byte("done"))
	})
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	stop := server.serve(ctx, &readiness{})
	cancel() // the process receives the signal to stop; what runs continues
	url, respond, stopped := "https://"+server.listener.Addr().String(), make(chan string, 1), make(chan struct{})
	go func() {
		response, err := trusting(certificate).Get(url)
		if err != nil {
			respond <- err.Error()
			return
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		respond <- string(bytes.TrimSpace(body))
	}()
	<-arrived
	go func() { defer close(stopped); stop() }()
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return accepted(url, certificate) != nil, nil })
	if err != nil {
		t.Error("it takes new ones")
	}
	close(release)
	if got := <-respond; got != "done" {
		t.Errorf("the review in flight got %q", got)
	}
	<-stopped
}

// Without "webhooks" among the enabled ones nothing is served.
func TestWebhooksCanBeDisabled(t *testing.T) {
	for enabled, want := range map[string]bool{"*": true, "* -webhooks": false, "project": false, "webhooks": true} {
		found := false
		for _, c := range selectEnabled(controllers(nil), strings.Fields(enabled)) {
			found = found || c.name == webhooksName
		}
		if found != want {
			t.Errorf("[%s]: %t", enabled, found)
		}
	}
}
