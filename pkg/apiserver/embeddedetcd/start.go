// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"crypto/fips140"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

// start runs etcd. When it fails, it gives the directory free.
func start(ctx context.Context, config Config, dir *directory) (*Server, error) {
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
		var r result
		fips140.WithoutEnforcement(func() { // the ids of etcd's members are SHA-1
			r.etcd, r.err = embed.StartEtcd(etcdConfig(config, dir, embed.NewZapLoggerBuilder(log)))
		})
		started <- r
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
		go func() { etcd.Close(); dir.close() }() // it may block
		return nil, err
	}
	// A new store records the version of its files in its first commit. etcd may check the version before, log a misleading error and
	// retry.
	etcd.Server.KV().Commit()
	if err := disarm(ctx, etcd); err != nil {
		go func() { etcd.Close(); dir.close() }() // it may block
		return nil, err
	}
	setLevel(zapcore.WarnLevel)
	if config.OnlyErrors {
		setLevel(zapcore.ErrorLevel)
	}
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

// abandon closes an etcd that starts after all, when no caller waits for it any more: it may have waited for the lock of another
// etcd. Until then it has the directory.
func abandon(started <-chan result, died <-chan error, dir *directory) {
	select {
	case r := <-started:
		if r.err == nil {
			r.etcd.Close()
		}
	case err := <-died:
		_ = err // the reason comes too late
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

// disarm lifts the alarm of a database that was full and has space again, because a start returns free pages to the disk. etcd itself
// never does.
func disarm(ctx context.Context, etcd *embed.Etcd) error {
	if etcd.Server.Backend().Size() > roomBytes {
		return nil
	}
	for _, alarm := range etcd.Server.Alarms() {
		if alarm.Alarm != pb.AlarmType_NOSPACE {
			continue
		}
		request := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: alarm.MemberID, Alarm: alarm.Alarm}
		if _, err := etcd.Server.Alarm(ctx, request); err != nil {
			return fmt.Errorf("disarm the alarm NOSPACE: %w", err)
		}
	}
	return nil
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
	// etcd keeps the latest writes in memory for members that lag behind; there are none.
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshotCount, snapshotCatchUpEntries
	c.UnsafeNoFsync = config.UnsafeNoFsync
	c.BackendBatchInterval = config.batchInterval
	return c
}

// ErrInUse means that another process runs an etcd in the directory.
var ErrInUse = errors.New("another process uses this directory (--embedded-etcd-dir)")

// Exists reports whether there is the data of an etcd in a directory.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "etcd", "member"))
	return err == nil
}

// Reach returns the address of the etcd in a directory: that of the process which runs there, or else one that this
// process starts. The caller must be the same user as that process. It is an error when there is no data.
func Reach(ctx context.Context, config Config) (endpoint string, release func(), err error) {
	if !Exists(config.Dir) {
		return "", nil, fmt.Errorf("there is no embedded etcd in %s (--embedded-etcd-dir)", config.Dir)
	}
	server, err := Start(ctx, config)
	if err == nil {
		return server.Endpoint(), server.Stop, nil
	}
	if !errors.Is(err, ErrInUse) {
		return "", nil, err
	}
	d, err := newDirectory(config.Dir)
	if err != nil {
		return "", nil, err
	}
	if err := d.shortenSocket(); err != nil {
		return "", nil, err
	}
	return d.endpoint(), d.close, nil
}
