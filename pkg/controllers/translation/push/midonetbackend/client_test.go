// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// serve returns a fake that wants a login, and the configuration that reaches it.
func serve(t *testing.T, password string) (*fake.Server, configv1alpha1.MidoNetConfiguration) {
	t.Helper()
	server := fake.New(fake.Options{Username: "admin", Password: password, Project: "kube"})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return server, configv1alpha1.MidoNetConfiguration{
		URL: web.URL + fake.Root, Username: "admin", Project: "kube",
		PasswordFile: filepath.Join(t.TempDir(), "password"),
		Timeout:      &metav1.Duration{Duration: 3 * time.Second},
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPasswordFile checks that each login reads the password file.
func TestPasswordFile(t *testing.T) {
	server, config := serve(t, "open")
	connect := func() *Backend {
		t.Helper()
		client, err := NewClient(config, nil, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		return New(client, tenant)
	}
	list := func(b *Backend) error {
		_, err := b.List(t.Context(), backend.Collection{Kind: "Chain"})
		return err
	}
	b := connect()
	wantReason(t, list(b), backend.Transient, 0, config.PasswordFile)
	write(t, config.PasswordFile, "\n")
	wantReason(t, list(b), backend.Transient, 0, "is empty")
	write(t, config.PasswordFile, "open\n")
	if err := list(b); err != nil {
		t.Fatal(err)
	}
	// The file is read at a login only.
	write(t, config.PasswordFile, "secret-and-wrong")
	if err := list(b); err != nil {
		t.Fatal(err)
	}
	server.RevokeTokens()
	err := list(b)
	wantReason(t, err, backend.Transient, 401, "passwordFile")
	if text := fmt.Sprintf("%v %+v %#v", err, errors.Unwrap(err), err); strings.Contains(text, "secret-and-wrong") {
		t.Errorf("the password is in the error: %s", text)
	}
	write(t, config.PasswordFile, "open\r\n")
	if err := list(connect()); err != nil {
		t.Error(err)
	}
}

// TestNewClient checks that requests are counted, that the fence is checked, and that another client continues the counters.
func TestNewClient(t *testing.T) {
	_, config := serve(t, "open")
	write(t, config.PasswordFile, "open")
	registry := prometheus.NewRegistry()
	var lost error
	var b *Backend
	for range 2 {
		client, err := NewClient(config, func() error { return lost }, registry)
		if err != nil {
			t.Fatal(err)
		}
		b = New(client, tenant)
		chain, err := b.Resolve(item("Chain"))
		if err != nil {
			t.Fatal(err)
		}
		_ = b.Create(t.Context(), chain, 0)
	}
	lost = errors.New("no Lease")
	wantReason(t, b.Delete(t.Context(), backend.Ref{Key: key("Chain", preID)}), backend.Fenced, 0, "no Lease")
	want := `
# HELP groundskeeper_translation_backend_requests_total Requests to the backend, by kind of resource, method and status code; code none: no response.
# TYPE groundskeeper_translation_backend_requests_total counter
groundskeeper_translation_backend_requests_total{code="200",kind="login",method="POST"} 2
groundskeeper_translation_backend_requests_total{code="201",kind="Chain",method="POST"} 1
groundskeeper_translation_backend_requests_total{code="409",kind="Chain",method="POST"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "groundskeeper_translation_backend_requests_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "groundskeeper_translation_backend_request_duration_seconds"); n != 1 || err != nil {
		t.Errorf("%d durations, %v", n, err)
	}
}

func TestNewClientRejects(t *testing.T) {
	for name, config := range map[string]configv1alpha1.MidoNetConfiguration{
		"no URL":                  {},
		"password in URL":         {URL: "http://admin:secret@midonet/midonet-api"},
		"password without a user": {URL: "http://midonet/midonet-api", PasswordFile: "x"},
	} {
		_, err := NewClient(config, nil, prometheus.NewRegistry())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "groundskeeper_translation_backend_requests_total"}))
	if _, err := NewClient(configv1alpha1.MidoNetConfiguration{URL: "http://midonet/midonet-api"}, nil, registry); err == nil {
		t.Error("another metric has the name")
	}
}

// TestUnreachable checks that a server that cannot be reached has no status code.
func TestUnreachable(t *testing.T) {
	client, err := midonet.New(midonet.Options{URL: "http://127.0.0.1:1/midonet-api", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(client, tenant).List(t.Context(), backend.Collection{Kind: "Chain"})
	wantReason(t, err, backend.Transient, 0, "refused")
	if !midonet.IsTransient(errors.Unwrap(err)) {
		t.Errorf("%v has no cause", err)
	}
}
