// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package planetest has what tests with a dedicated plane share: its start, an administrator, and programs that run beside it.
package planetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/test/plane"
)

// World is a plane and what runs beside it. Everything stops with the test, the programs before the plane.
type World struct {
	*testing.T
	// Dir is a directory of the test.
	Dir   string
	Plane *plane.Plane
	// Client is an administrator of the plane.
	Client client.WithWatch
	// Patience is how long Eventually waits.
	Patience time.Duration

	running sync.WaitGroup
}

// New starts a plane.
func New(t *testing.T, options plane.Options) *World {
	t.Helper()
	w := &World{T: t, Dir: t.TempDir(), Plane: Start(t, options), Patience: 2 * time.Minute}
	w.Client = NewClient(t, w.Plane.Config())
	t.Cleanup(w.running.Wait) // the context of the test is done before
	return w
}

// Start starts a plane that stops with the test.
func Start(t *testing.T, options plane.Options) *plane.Plane {
	t.Helper()
	options.Dir, options.UnsafeNoFsync = filepath.Join(t.TempDir(), "plane"), true
	started, err := plane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return started
}

// NewClient returns a client without a rate limit, which knows the kinds of Kubernetes and of Groundskeeper.
func NewClient(t testing.TB, config *rest.Config) client.WithWatch {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, scheme.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Write writes a file, and returns its path.
func (w *World) Write(name, content string) (path string) {
	w.Helper()
	path = filepath.Join(w.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// Kubectl runs kubectl as an administrator, and returns its output.
func (w *World) Kubectl(input string, args ...string) string {
	w.Helper()
	return Kubectl(w.T, w.Plane, input, args...)
}

// Kubectl runs kubectl as an administrator of a plane, and returns its output.
func Kubectl(t *testing.T, p *plane.Plane, input string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), p.Kubectl(), append([]string{"--kubeconfig", p.AdminKubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out)
}

// Eventually waits until a condition reports no error.
func (w *World) Eventually(what string, condition func(ctx context.Context) error) {
	w.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.Context(), 200*time.Millisecond, w.Patience, true, func(ctx context.Context) (bool, error) {
		if now := condition(ctx); now == nil || last == nil || ctx.Err() == nil {
			last = now
		}
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%s: %v: %v", what, err, last)
	}
}
