// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func run(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir, UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func connect(t *testing.T, s *Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func put(t *testing.T, c *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := c.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c *clientv3.Client, key string) string {
	t.Helper()
	found, err := c.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Kvs) == 0 {
		return ""
	}
	return string(found.Kvs[0].Value)
}

// failsToStart starts an etcd that cannot start, and checks that the error is one line with what is wanted.
func failsToStart(t *testing.T, config Config, want ...string) {
	t.Helper()
	s, err := Start(t.Context(), config)
	if err == nil {
		s.Stop()
		t.Fatal("it started")
	}
	for _, want := range want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func TestDataSurvivesARestartAndAMove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := run(t, dir)
	put(t, connect(t, s), "key", "value")
	s.Stop()
	s.Stop()
	s = run(t, dir)
	if value := get(t, connect(t, s), "key"); value != "value" {
		t.Errorf("after a restart the value is %q", value)
	}
	s.Stop()
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if value := get(t, connect(t, run(t, moved)), "key"); value != "value" {
		t.Errorf("after a move the value is %q", value)
	}
}

// TestNewStoreHasAVersion checks that a new store has a version. Otherwise etcd logs an error that has no remedy.
func TestNewStoreHasAVersion(t *testing.T) {
	s, err := Start(t.Context(), Config{Dir: t.TempDir(), UnsafeNoFsync: true, batchInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if s.etcd.Server.StorageVersion() == nil {
		t.Error("etcd serves, and its store has no version")
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	s := run(t, dir)
	failsToStart(t, Config{Dir: dir}, dir, "another process uses this directory")
	put(t, connect(t, s), "key", "value") // the first is unharmed
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(dir, "etcd")
	if err := os.MkdirAll(private, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(private, 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, dir)
	info, err := os.Stat(private)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("others may enter: %v", info.Mode())
	}
	if info, err := os.Stat(filepath.Join(private, "client.sock")); err != nil || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("the socket is not in the private directory: %v %v", info, err)
	}
}

func TestUnusualPaths(t *testing.T) {
	for name, dir := range map[string]string{
		"long":    strings.Repeat("long-", 40),
		"space":   "with space",
		"percent": "100%zz?#",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), dir)
			s := run(t, dir)
			put(t, connect(t, s), "key", "value")
			s.Stop()
			if value := get(t, connect(t, run(t, dir)), "key"); value != "value" {
				t.Errorf("after a restart the value is %q", value)
			}
		})
	}
}

func TestFailed(t *testing.T) {
	dir := t.TempDir()
	s := run(t, dir)
	select {
	case err := <-s.Failed():
		t.Fatalf("failed while it runs: %v", err)
	default:
	}
	s.etcd.Server.HardStop()
	if err := <-s.Failed(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	stopped := run(t, t.TempDir())
	stopped.Stop()
	select {
	case err := <-stopped.Failed():
		t.Errorf("a stop is no failure: %v", err)
	default:
	}
}
