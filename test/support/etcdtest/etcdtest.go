// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package etcdtest runs an etcd inside a test.
package etcdtest

import (
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Run starts an etcd on a unix socket, changed by the options, and returns a client of it. Both end
// with the test.
func Run(t testing.TB, options ...func(*embed.Config)) *kubernetes.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "etcd") // not t.TempDir(): its name may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "data")
	config.UnsafeNoFsync = true
	config.EnableGRPCGateway = false
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	client, peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "client")}, url.URL{Scheme: "unix", Path: "/peer"}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = nil, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	for _, option := range options {
		option(config)
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd did not start within a minute")
	}
	tls, err := config.ClientTLSInfo.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if config.ClientTLSInfo.Empty() {
		tls = nil
	}
	c, err := kubernetes.New(clientv3.Config{Endpoints: []string{config.AdvertiseClientUrls[0].String()}, TLS: tls, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// FreePort returns a URL on loopback whose port was free a moment ago. It is none that an outgoing connection may be given before a
// server listens there.
func FreePort(t testing.TB, scheme string) url.URL {
	t.Helper()
	var failed error
	for range 1000 {
		host := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(10000)))
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", host)
		if err == nil {
			_ = l.Close()
			return url.URL{Scheme: scheme, Host: host}
		}
		failed = err
	}
	t.Fatal(failed)
	return url.URL{}
}
