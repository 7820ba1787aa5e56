// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"groundskeeper.io/groundskeeper/test/plane"
)

// Binary returns the path of a program, or of a file beside the programs, that a target of make builds.
func (w *World) Binary(name, target string) string {
	w.Helper()
	path := filepath.Join(filepath.Dir(w.Plane.Kubectl()), name)
	if _, err := os.Stat(path); err != nil {
		w.Fatalf("there is no %s: \"make %s\" builds it", path, target)
	}
	return path
}

// Run runs a program, with variables besides those of the test, until the test ends or stop is called, which waits for its end. When the
// test failed, the end of the log is shown.
func (w *World) Run(binary string, environment []string, args ...string) (stop func()) {
	w.Helper()
	name := filepath.Base(binary)
	path := filepath.Join(w.Dir, name+".log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	command := exec.CommandContext(ctx, binary, args...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT="), environment...) // not a Pod
	if err := command.Start(); err != nil {
		cancel()
		w.Fatal(err)
	}
	ended := make(chan struct{})
	w.Go(func() {
		defer close(ended)
		if err := command.Wait(); ctx.Err() == nil {
			w.Errorf("%s ended: %v", name, err)
		}
		_ = log.Close()
		if content, err := os.ReadFile(path); err == nil && w.Failed() {
			w.Logf("%s: …%s", name, content[max(0, len(content)-6000):])
		}
	})
	return func() {
		cancel()
		<-ended
	}
}

// Go runs a function that returns when the context of the test is done. The plane stops after it.
func (w *World) Go(run func()) { w.running.Go(run) }

// FreePort returns a port of loopback that no program listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := plane.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
