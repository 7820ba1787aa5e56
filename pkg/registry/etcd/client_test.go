// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap/zapcore"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/util/cert"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

var clientPrefix = clientv3.WithPrefix()

// certificate writes a self-signed certificate for loopback, which is its own CA.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, data := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestNewClient(t *testing.T) {
	certFile, keyFile := certificate(t)
	otherFile, _ := certificate(t)
	tls := etcdtest.Run(t, func(c *embed.Config) {
		u := etcdtest.FreePort(t, "https")
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{u}, []url.URL{u}
		c.ClientTLSInfo = transport.TLSInfo{CertFile: certFile, KeyFile: keyFile}
	})
	unused := etcdtest.FreePort(t, "http")
	for name, test := range map[string]struct {
		config storagebackend.TransportConfig
		want   []string // in the error; none: it works
	}{
		"TLS":         {storagebackend.TransportConfig{ServerList: tls.Endpoints(), TrustedCAFile: certFile}, nil},
		"other CA":    {storagebackend.TransportConfig{ServerList: tls.Endpoints(), TrustedCAFile: otherFile}, []string{tls.Endpoints()[0], "--etcd-servers", "certificate signed by unknown authority"}},
		"no CA":       {storagebackend.TransportConfig{ServerList: tls.Endpoints()}, []string{tls.Endpoints()[0], "certificate signed by unknown authority"}},
		"no file":     {storagebackend.TransportConfig{ServerList: tls.Endpoints(), TrustedCAFile: "/nowhere/ca.crt"}, []string{"--etcd-cafile", "/nowhere/ca.crt"}},
		"nobody":      {storagebackend.TransportConfig{ServerList: []string{unused.String()}}, []string{unused.String(), "--etcd-servers", "connection refused"}},
		"no servers":  {storagebackend.TransportConfig{}, []string{"--etcd-servers"}},
		"no key file": {storagebackend.TransportConfig{ServerList: tls.Endpoints(), CertFile: certFile}, []string{"--etcd-keyfile"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ETCD_CLIENT_DEBUG", "panic")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if len(test.want) > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second) // none of these gets better
			}
			defer cancel()
			client, err := NewClient(ctx, test.config)
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = client.Close() }()
				if _, err := client.KV.Get(t.Context(), "key"); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				_ = client.Close()
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

func TestClientMetricsAreShared(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := clientMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	second, err := clientMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Error("two clients have dedicated metrics: one of them is not registered")
	}
}

func TestClientLogIsShared(t *testing.T) {
	server := etcdtest.Run(t)
	var logs []zapcore.Core
	for range 2 {
		client, err := NewClient(t.Context(), storagebackend.TransportConfig{ServerList: server.Endpoints()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		logs = append(logs, client.GetLogger().Core())
	}
	if logs[0] != logs[1] {
		t.Error("two clients have a log each, with half a MiB of counters")
	}
}

// TestTracesRequireAnExporter checks that requests to etcd have no tracing overhead unless traces are exported.
func TestTracesRequireAnExporter(t *testing.T) {
	defaults := storagebackend.NewDefaultConfig("/registry", nil).Transport
	collected := defaults
	collected.TracerProvider = sdktrace.NewTracerProvider()
	for name, test := range map[string]struct {
		config storagebackend.TransportConfig
		want   bool
	}{
		"nothing":               {storagebackend.TransportConfig{}, false},
		"the library's default": {defaults, false},
		"a provider":            {collected, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := traced(test.config.TracerProvider); got != test.want {
				t.Errorf("traced: %v", got)
			}
			options, err := dialOptions(test.config)
			if err != nil {
				t.Fatal(err)
			}
			want := 2 // metrics of both kinds of calls
			if test.want {
				want++
			}
			if len(options) != want {
				t.Errorf("%d options of the connection, not %d", len(options), want)
			}
		})
	}
}
