// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package etcdtest runs an etcd inside a test.
package etcdtest

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"groundskeeper.io/groundskeeper/test/plane"
)

// Run starts an etcd on a unix socket, changed by the options, and returns a client of it. Both end
// with the test.
func Run(t testing.TB, options ...func(*embed.Config)) *kubernetes.Client {
	t.Helper()
	config := newConfig(t)
	for _, option := range options {
		option(config)
	}
	ready(t, start(t, config))
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

// RunCluster starts members of one etcd on loopback, and returns the URLs of their clients. They end with the test.
func RunCluster(t testing.TB, members int) (endpoints []string) {
	t.Helper()
	configs := make([]*embed.Config, members)
	var cluster []string
	for i := range configs {
		config, client, peer := newConfig(t), FreePort(t, "http"), FreePort(t, "http")
		config.Name = "member-" + strconv.Itoa(i)
		config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		cluster = append(cluster, config.Name+"="+peer.String())
		endpoints = append(endpoints, client.String())
		configs[i] = config
	}
	servers := make([]*embed.Etcd, members)
	for i, config := range configs {
		config.InitialCluster = strings.Join(cluster, ",")
		servers[i] = start(t, config)
	}
	for _, server := range servers {
		ready(t, server)
	}
	return endpoints
}

func newConfig(t testing.TB) *embed.Config {
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
	return config
}

func start(t testing.TB, config *embed.Config) *embed.Etcd {
	t.Helper()
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func ready(t testing.TB, server *embed.Etcd) {
	t.Helper()
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd did not start within a minute")
	}
}

// FreePort returns a URL on loopback whose port no client listens on, and that no other caller on this machine is given as long as
// this process lives.
func FreePort(t testing.TB, scheme string) url.URL {
	t.Helper()
	port, err := plane.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return url.URL{Scheme: scheme, Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
}
