// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package embeddedetcd runs an etcd inside the API server, for installations with one replica.
//
// It listens on a unix socket in a directory that only the owner of the process can enter: there is
// no port, no password and no certificate. The data survives a restart and kill -9. One process at a
// time may use a directory.
//
// # Size
//
// The API server compacts old revisions every five minutes (--etcd-compaction-interval), so etcd's
// own compaction stays off. Compaction frees pages inside the database file, which keeps its size;
// a start returns them to the disk when they are at least 100 MiB. The database holds 8 GiB, the most
// etcd recommends; a Project takes about 2 KiB. Beyond that etcd refuses writes until it is
// defragmented and its alarm is disarmed: etcdctl --endpoints=unix://<dir>/etcd/client.sock defrag,
// then alarm disarm. A backup is etcdctl snapshot save with the same endpoint.
package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

const (
	quotaBytes          = 8 << 30
	defragThresholdMiB  = 100
	defaultStartTimeout = time.Minute
	defaultStopTimeout  = 30 * time.Second
)

// Config says where the data is and how much etcd writes to the log.
type Config struct {
	// Dir is the directory of the data. It is created when it does not exist; everything lies in its
	// subdirectory etcd, which only the owner of the process can enter.
	Dir string
	// LogLevel is debug, info, warn or error. Empty means warn.
	LogLevel string
	// StartTimeout bounds the start. 0 means one minute.
	StartTimeout time.Duration
	// UnsafeNoFsync leaves writing to the disk to the operating system: several times faster, and the
	// data may be lost when the machine stops. For tests only.
	UnsafeNoFsync bool
}

// Server is a running etcd.
type Server struct {
	etcd     *embed.Etcd
	dir      *directory
	failed   chan error
	stopping chan struct{}
	stop     func()
}

// Start runs etcd until Stop. It returns when etcd serves, or with an error that names the directory:
// it cannot be written, another process uses it, its data is damaged, or the start takes too long.
func Start(ctx context.Context, config Config) (*Server, error) {
	level, err := parseLevel(config.LogLevel)
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(config.Dir)
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, config, dir, level)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd in %s: %w", config.Dir, err)
	}
	return server, nil
}

// start runs etcd. When it fails, it gives the directory free.
func start(ctx context.Context, config Config, dir *directory, level zapcore.Level) (*Server, error) {
	timeout := config.StartTimeout
	if timeout == 0 {
		timeout = defaultStartTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("did not start within %s", timeout))
	defer cancel()

	// Quiet until it serves: a start warns of what is so by design (one port, one member), and what
	// ends it is the error returned.
	log, setLevel, died := newLogger(zapcore.FatalLevel)
	started := make(chan result, 1)
	go func() {
		etcd, err := embed.StartEtcd(etcdConfig(config, dir, embed.NewZapLoggerBuilder(log)))
		started <- result{etcd, err}
	}()
	var etcd *embed.Etcd
	select {
	case r := <-started:
		if etcd = r.etcd; r.err != nil {
			dir.close()
			return nil, r.err
		}
	case err := <-died:
		dir.close()
		return nil, err
	case <-ctx.Done():
		go abandon(started, died, dir)
		return nil, context.Cause(ctx)
	}
	if err := waitReady(ctx, etcd, died); err != nil {
		go func() { etcd.Close(); dir.close() }() // it may hang
		return nil, err
	}
	setLevel(level)
	s := &Server{etcd: etcd, dir: dir, failed: make(chan error, 1), stopping: make(chan struct{})}
	s.stop = sync.OnceFunc(func() {
		setLevel(zapcore.FatalLevel) // a stop logs errors of the connections it closes
		s.close()
	})
	go s.watch(died)
	return s, nil
}

type result struct {
	etcd *embed.Etcd
	err  error
}

// abandon closes an etcd that starts after all, when nobody waits for it any more: it may have waited
// for the lock of another etcd. Until then it has the directory.
func abandon(started <-chan result, died <-chan error, dir *directory) {
	select {
	case r := <-started:
		if r.err == nil {
			r.etcd.Close()
		}
	case <-died:
	}
	dir.close()
}

// waitReady waits until a started etcd serves.
func waitReady(ctx context.Context, etcd *embed.Etcd, died <-chan error) error {
	select {
	case <-etcd.Server.ReadyNotify():
		return nil
	case err := <-died:
		return err
	case <-etcd.Server.StopNotify():
		return errors.New("stopped while starting")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func etcdConfig(config Config, dir *directory, logger func(*embed.Config) error) *embed.Config {
	client := url.URL{Scheme: "unix", Path: dir.socket()}
	peer := url.URL{Scheme: "unix", Path: "/peer"} // a name only: the single member has no peers to serve
	c := embed.NewConfig()
	c.Dir = dir.path
	c.ZapLoggerBuilder = logger
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = nil, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	c.QuotaBackendBytes = quotaBytes
	c.BootstrapDefragThresholdMegabytes = defragThresholdMiB
	c.UnsafeNoFsync = config.UnsafeNoFsync
	return c
}

// Endpoint returns the address for etcd clients in this process (--etcd-servers).
func (s *Server) Endpoint() string { return s.dir.endpoint() }

// Failed returns a channel that receives one error when etcd ends by itself, for example because the
// disk is full. The API server cannot go on then.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop ends etcd, 30 s at most, and gives the directory free. Call it when the API server has served
// its last request. Calling it again does nothing.
func (s *Server) Stop() { s.stop() }

func (s *Server) close() {
	close(s.stopping)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.etcd.Close()
	}()
	select {
	case <-closed:
	case <-time.After(defaultStopTimeout):
	}
	s.dir.close()
}

func (s *Server) watch(died <-chan error) {
	var err error
	select {
	case <-s.stopping:
		return
	case err = <-died:
	case err = <-s.etcd.Err():
	case <-s.etcd.Server.StopNotify():
		err = fmt.Errorf("stopped")
	}
	select {
	case <-s.stopping:
	default:
		s.failed <- fmt.Errorf("embedded etcd in %s: %w", s.dir.path, err)
	}
}
