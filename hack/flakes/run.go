// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// lowest is the lowest priority of a process.
const lowest = "19"

// loadVariable makes this command a load: a process that does nothing but use all CPUs.
const loadVariable = "FLAKES_LOAD"

// test is a test of a package.
type test struct {
	pkg
	name string
}

// runner runs tests and remembers the outcomes.
type runner struct {
	options
	binaries string
	out      io.Writer
	began    time.Time
	compiled map[string]string
	runs     int
	late     int
	failed   []string
}

// round runs each test once. In every second round there is a load.
func (r *runner) round(ctx context.Context, round int, tests []test) error {
	loaded, condition := round%2 == 1, "alone"
	if loaded {
		condition = "beside a load"
		end, err := load(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	for _, t := range tests {
		if r.limit > 0 && time.Since(r.began) > r.limit {
			r.late++
			continue
		}
		binary, err := r.binary(ctx, t.pkg)
		if err != nil {
			return err
		}
		r.runs++
		text, err := r.run(ctx, binary, t, loaded)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		log := filepath.Join(r.logs, fmt.Sprintf("%s-%s-%d.log", filepath.Base(t.path), t.name, round))
		if err := os.MkdirAll(r.logs, 0o755); err != nil { //nolint:gosec // as the rest of _output
			return err
		}
		if err := os.WriteFile(log, text, 0o644); err != nil { //nolint:gosec // as the rest of _output
			return err
		}
		r.failed = append(r.failed, fmt.Sprintf("%s %s, %s, round %d: %v", t.path, t.name, condition, round/2+1, err))
		fmt.Fprintf(r.out, "FAILED %s\n", r.failed[len(r.failed)-1])
	}
	return nil
}

// binary compiles the tests of a package once.
func (r *runner) binary(ctx context.Context, p pkg) (string, error) {
	if r.compiled == nil {
		r.compiled = map[string]string{}
	}
	if path := r.compiled[p.path]; path != "" {
		return path, nil
	}
	path := filepath.Join(r.binaries, strings.ReplaceAll(p.path, "/", "_")+".test")
	if _, err := command(ctx, "go", "test", "-c", "-o", path, p.path); err != nil {
		return "", err
	}
	r.compiled[p.path] = path
	return path, nil
}

// run runs a test in a separate process, and returns what it prints. Beside a load, the processes of its control planes have a
// lower priority than the test, and Go uses one thread in each.
func (r *runner) run(ctx context.Context, binary string, t test, loaded bool) ([]byte, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run=^"+t.name+"$", "-test.short", "-test.timeout=10m") // in the form of "go test"
	cmd.Dir = t.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if loaded {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "PLANE_NICE="+lowest)
	}
	return cmd.CombinedOutput()
}

// load starts a busy loop per CPU until end is called. It has the lowest priority: it takes its share from what has it, too.
func load(ctx context.Context) (end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "nice", "-n", lowest, self)
	cmd.Env = append(os.Environ(), loadVariable+"=1")
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process, however that ends
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a load: %w", err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}, nil
}

// loads uses all CPUs until the standard input ends, if this process is a load, and reports whether it is one.
func loads() bool {
	if os.Getenv(loadVariable) == "" {
		return false
	}
	for range runtime.NumCPU() {
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}
