// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failsToStart(t, Config{Dir: filepath.Join(file, "data")}, "cannot write to", file, "--embedded-etcd-dir")
	// A lock that is a directory cannot be opened for writing, by root either.
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	failsToStart(t, Config{Dir: dir}, "cannot write to", dir, "--embedded-etcd-dir")
}

func TestDamagedData(t *testing.T) {
	dir := t.TempDir()
	run(t, dir).Stop()
	if err := os.WriteFile(filepath.Join(dir, "etcd", "member", "snap", "db"), []byte(strings.Repeat("damaged", 10000)), 0o600); err != nil {
		t.Fatal(err)
	}
	failsToStart(t, Config{Dir: dir}, dir, "database")
	// The lock is free again.
	failsToStart(t, Config{Dir: dir}, dir, "database")
}

func TestStartIsBounded(t *testing.T) {
	dir := t.TempDir()
	run(t, dir).Stop()
	// Another process that does not know Groundskeeper's lock has locked the database: etcd would wait indefinitely.
	db, err := bbolt.Open(filepath.Join(dir, "etcd", "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	failsToStart(t, Config{Dir: dir, StartTimeout: time.Second}, dir, "did not start within 1s")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	waitFree(t, dir)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Config{Dir: dir}); err == nil {
		s.Stop()
		t.Error("it started although no caller waits for it any more")
	}
	waitFree(t, dir)
}

// waitFree waits until an etcd that was given up has ended.
func waitFree(t *testing.T, dir string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		s, err := Start(ctx, Config{Dir: dir, UnsafeNoFsync: true})
		if err != nil && strings.Contains(err.Error(), "another process uses this directory") {
			return false, nil
		}
		if err == nil {
			s.Stop()
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
}
