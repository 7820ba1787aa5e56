// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"groundskeeper.io/groundskeeper/test/plane"
)

// Names of Groundskeeper's binaries.
const (
	apiserver = "groundskeeper-apiserver"
	manager   = "groundskeeper-controller-manager"
)

// child is a process of one of Groundskeeper's binaries that no plane knows of.
type child struct {
	cmd    *exec.Cmd
	stderr *output
	ended  chan error // receives the exit status once
}

// start runs a binary. It is killed when ctx or the test ends.
func start(t *testing.T, ctx context.Context, binary string, args ...string) *child {
	t.Helper()
	return startWithEnv(t, ctx, nil, binary, args...)
}

// startWithEnv is start with further environment variables, as name=value.
func startWithEnv(t *testing.T, ctx context.Context, env []string, binary string, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	c := &child{cmd: exec.CommandContext(ctx, filepath.Join(filepath.Dir(shared.Kubectl()), binary), args...), stderr: &output{}, ended: make(chan error, 1)}
	c.cmd.Stderr = c.stderr
	// Not a Pod, even where the tests run in one.
	c.cmd.Env = append(append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "KUBERNETES_SERVICE_PORT="), env...)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); c.ended <- c.cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

// exitCode waits for the end of the process. It is -1 when a signal ended it.
func (c *child) exitCode() int {
	if exit := (*exec.ExitError)(nil); errors.As(<-c.ended, &exit) {
		return exit.ExitCode()
	}
	return c.cmd.ProcessState.ExitCode()
}

// output collects what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// lines returns what was written until now.
func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Split(strings.TrimSuffix(o.text.String(), "\n"), "\n")
}

func (o *output) last() string { lines := o.lines(); return lines[len(lines)-1] }

// freePort returns a port of loopback that no client listens on.
func freePort(t *testing.T) string {
	t.Helper()
	port, err := plane.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// listen takes a port of loopback.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func portOf(listener net.Listener) string {
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// onLoopback returns the flags with which an API server listens on a port.
func onLoopback(port string) []string {
	return []string{"--bind-address=127.0.0.1", "--secure-port=" + port}
}

// pki returns the path of a file with keys of a plane.
func pki(p *plane.Plane, name string) string { return filepath.Join(p.Dir(), "pki", name) }

// kubeconfigOf returns the kubeconfig of one of the processes of the shared plane.
func kubeconfigOf(process string) string {
	return filepath.Join(shared.Dir(), "kubeconfigs", process+".kubeconfig")
}
