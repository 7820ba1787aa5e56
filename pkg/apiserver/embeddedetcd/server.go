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
// The API server compacts old revisions every five minutes (--etcd-compaction-interval), so etcd's own compaction stays off.
// Compaction frees pages inside the database file, which keeps its size; a start returns them to the disk when they are at least
// 100 MiB. The database holds 4 GiB, as that of artifacts/install/high-availability does: of the volume half is left to write it
// again, and for what etcd logs. A Project takes about 2 KiB. Beyond that etcd rejects writes until a start of the API server finds
// room in it: Start disarms its alarm. A backup is etcdctl --endpoints=unix://<dir>/etcd/client.sock snapshot save.
package embeddedetcd

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	quotaBytes             = 4 << 30
	roomBytes              = quotaBytes / 10 * 9 // up to this size, the alarm of a full database is disarmed at a start
	defragThresholdMiB     = 100
	snapshotCount          = 2000
	snapshotCatchUpEntries = 100

	defaultStartTimeout = time.Minute
	stopTimeout         = 30 * time.Second
)

// Config specifies where the data is and how much etcd writes to the log.
type Config struct {
	// Dir is the directory of the data. It is created when it does not exist; everything lies in its
	// subdirectory etcd, which only the owner of the process can enter.
	Dir string
	// OnlyErrors leaves warnings, such as those of slow writes, out of the log.
	OnlyErrors bool
	// StartTimeout bounds the start. 0 means one minute.
	StartTimeout time.Duration
	// UnsafeNoFsync leaves writing to the disk to the operating system: several times faster, and the
	// data may be lost when the machine stops. For tests only.
	UnsafeNoFsync bool

	// batchInterval is how long etcd's files may lack what its log of writes has. 0 means etcd's default.
	batchInterval time.Duration
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
	dir, err := openDirectory(config.Dir)
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, config, dir)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd in %s: %w", config.Dir, err)
	}
	return server, nil
}

// Endpoint returns the address for etcd clients in this process (--etcd-servers).
func (s *Server) Endpoint() string { return s.dir.endpoint() }

// Failed returns a channel that receives one error when etcd stops on its own, for example because the disk is full. The API
// server cannot continue then.
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
	case <-time.After(stopTimeout):
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

// newLogger returns etcd's log on standard error, a function that sets its level, and a channel that
// receives the message with which etcd would end the process (it panics or exits when its files are
// damaged or the disk fails).
func newLogger(level zapcore.Level) (*zap.Logger, func(zapcore.Level), <-chan error) {
	current := zap.NewAtomicLevelAt(level)
	died := make(ending, 1)
	config := zap.NewProductionEncoderConfig()
	// As the lines of the server itself.
	config.EncodeTime, config.EncodeLevel = zapcore.RFC3339NanoTimeEncoder, zapcore.CapitalLevelEncoder
	encoder := zapcore.NewJSONEncoder(config)
	log := zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), current), zap.WithPanicHook(died), zap.WithFatalHook(died))
	return log.Named("etcd"), current.SetLevel, died
}

// ending ends the goroutine in place of the process and passes on why.
type ending chan error

// OnWrite implements zapcore.CheckWriteHook.
func (e ending) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("%s", entry.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
			break
		}
	}
	select {
	case e <- err:
	default:
	}
	runtime.Goexit()
}
