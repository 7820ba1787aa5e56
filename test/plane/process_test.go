// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// cast returns a process that plays the role, and ends it with the test.
func cast(t *testing.T, role string) *Process {
	t.Helper()
	t.Setenv(roleVariable, role)
	port, err := pickPort(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := testProcess(t.TempDir(), address(port))
	t.Cleanup(func() { p.Kill(context.Background()) }) //nolint:errcheck // the test is over
	return p
}

func begin(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestProcessLives(t *testing.T) {
	p := cast(t, "server")
	if p.PID() != 0 {
		t.Errorf("a process that was never started has pid %d", p.PID())
	}
	if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "never started") {
		t.Errorf("Ready before Start: %v", err)
	}
	begin(t, p)
	first := p.PID()
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("second Start: %v", err)
	}
	if err := p.Restart(t.Context(), "--more"); err != nil {
		t.Fatal(err)
	}
	if p.PID() == 0 || p.PID() == first {
		t.Errorf("pid %d after a restart of %d", p.PID(), first)
	}
	if lines := p.Tail(10); len(lines) != 1 || !strings.Contains(lines[0], "--more") {
		t.Errorf("the log of the second life is %q", lines)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.PID() != 0 {
		t.Errorf("pid %d after Kill", p.PID())
	}
	if err := p.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("Ready after Kill: %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("Stop of a process that has been deleted: %v", err)
	}
}

func TestStopIsGraceful(t *testing.T) {
	p := cast(t, "server")
	begin(t, p)
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines := p.Tail(1); !slices.Equal(lines, []string{"stopping"}) {
		t.Errorf("the last line is %q", lines)
	}
}

func TestStopKillsWhatIgnoresIt(t *testing.T) {
	p := cast(t, "stubborn")
	begin(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if p.PID() != 0 {
		t.Error("it still runs")
	}
}

func TestFailureShowsTheLog(t *testing.T) {
	p := cast(t, "fail")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := p.Ready(t.Context())
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%T: %v", err, err)
	}
	if failure.Process != "actor" || failure.LogFile != p.LogFile() {
		t.Errorf("the error is about %s and %s", failure.Process, failure.LogFile)
	}
	for _, part := range []string{"actor failed: it ended: exit status 7", p.LogFile(), "\n  flag provided but not defined: -colour"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestNotReadyReportsTheFailedCheck(t *testing.T) {
	p := cast(t, "unready")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Until it listens the response is another one.
	for {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("gave up"))
		err := p.Ready(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "gave up") {
			t.Fatalf("Ready: %v", err)
		}
		if strings.Contains(err.Error(), "500 Internal Server Error: [-]etcd failed: it is unavailable") {
			return
		}
	}
}

func TestMissingBinary(t *testing.T) {
	p := cast(t, "server")
	p.binary += "-missing"
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), p.binary) {
		t.Errorf("Start: %v", err)
	}
	if p.PID() != 0 {
		t.Errorf("pid %d", p.PID())
	}
}

func TestEnsure(t *testing.T) {
	p := cast(t, "server")
	expect := func(p *Process, want string) {
		t.Helper()
		what, err := p.ensure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if what != want {
			t.Errorf("ensure reports %q, want %q", what, want)
		}
		if err := p.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// other is the handle that a later plane of the directory would have.
	other := func() *Process {
		s, err := loadState(p.args[1])
		if err != nil {
			t.Fatal(err)
		}
		return &Process{command: p.command, logFile: p.logFile, state: s, prober: p.prober}
	}
	expect(p, "started")
	second := other()
	expect(second, "runs already")
	if second.PID() != p.PID() {
		t.Errorf("pid %d, want %d", second.PID(), p.PID())
	}
	third := other()
	third.args = append(slices.Clone(p.args), "--changed")
	first := p.PID()
	expect(third, "restarted (its binary, flags or files changed)")
	t.Cleanup(func() { third.Kill(context.Background()) }) //nolint:errcheck // the test is over
	if third.PID() == first || p.PID() != 0 {
		t.Errorf("pid %d after the restart, was %d", third.PID(), first)
	}
	if err := third.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	fourth := other()
	t.Cleanup(func() { fourth.Kill(context.Background()) }) //nolint:errcheck // the test is over
	expect(fourth, "started again")
}

func TestAdoptedProcessThatEnds(t *testing.T) {
	p := cast(t, "server")
	begin(t, p)
	r, found := p.state.process(p.name)
	if !found {
		t.Fatal("it is not in the state")
	}
	adopted := testProcess(t.TempDir(), p.address)
	adopted.adopt(r)
	if err := adopted.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := adopted.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.PID() != 0 {
		t.Error("it still runs")
	}
	if err := adopted.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("Ready: %v", err)
	}
}

// await polls until the condition holds.
func await[T any](t *testing.T, condition func() (T, bool)) T {
	t.Helper()
	for {
		if value, ok := condition(); ok {
			return value
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestStartStopsForACancelledContext(t *testing.T) {
	p := cast(t, "server")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v", err)
	}
	if _, err := os.Stat(p.LogFile()); !os.IsNotExist(err) {
		t.Errorf("it was started: %v", err)
	}
}
