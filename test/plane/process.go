// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// pollInterval is how often a process is queried whether it is ready or has ended.
const pollInterval = 50 * time.Millisecond

// niceVariable is an environment variable with the priority of the processes of a plane, as of nice(1): with a low one, they are slow
// while the test is quick.
const niceVariable = "PLANE_NICE"

// Process is the handle of one process of a plane. The process may end and be started again; the handle,
// its arguments, ports and data stay. Its methods may be called by several goroutines.
type Process struct {
	command
	logFile  string
	detached bool
	state    *state
	prober   *http.Client

	mu      sync.Mutex
	current run
}

// run is one life of a process.
type run struct {
	identity
	offset int64           // where its lines begin in the log
	exited <-chan struct{} // closed when it ended; nil when another process started it
	err    *error          // how it ended; to be read after exited is closed
}

// Name returns the name of the process in messages, in the state and of its log file.
func (p *Process) Name() string { return p.name }

// Address returns where the process serves, as host:port.
func (p *Process) Address() string { return p.address }

// PID returns the process id, or 0 when the process does not run.
func (p *Process) PID() int {
	if current := p.run(); current.alive() {
		return current.PID
	}
	return 0
}

// Start starts the process, with further flags for this one life, and does not wait until it is ready.
// It is an error when the process runs.
func (p *Process) Start(ctx context.Context, flags ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.alive() {
		return fmt.Errorf("%s runs already (pid %d)", p.name, p.current.PID)
	}
	args := slices.Concat(p.args, flags)
	fingerprint, err := p.fingerprint(args)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own handle
	info, err := log.Stat()
	if err != nil {
		return err
	}
	program := []string{p.binary}
	if nice := os.Getenv(niceVariable); nice != "" {
		program = []string{"nice", "-n", nice, p.binary} // which becomes the process
	}
	cmd := exec.Command(program[0], slices.Concat(program[1:], args)...)
	cmd.Dir = filepath.Dir(p.logFile)
	if len(p.env) > 0 {
		cmd.Env = append(os.Environ(), p.env...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(p.detached)
	next, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	next.offset = info.Size()
	p.current = next
	return p.state.set(record{Name: p.name, Fingerprint: fingerprint, Address: p.address, Health: p.health, identity: next.identity})
}

// launch starts the command and reaps it when it ends.
func launch(cmd *exec.Cmd) (run, error) {
	exited, result := make(chan struct{}), new(error)
	next := run{exited: exited, err: result}
	started := make(chan error, 1)
	go func() {
		// The signal that ends a child with its parent is sent when the *thread* that started the child
		// ends; this thread lives as long as the child does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := cmd.Start()
		if err == nil {
			// Only this process reaps it, so even a process that ended immediately still has its start time.
			next.PID = cmd.Process.Pid
			next.Started, _, err = startOf(next.PID)
		}
		started <- err
		if cmd.Process != nil {
			*result = cmd.Wait()
		}
	}()
	err := <-started
	return next, err
}

// adopt takes over a process that runs already.
func (p *Process) adopt(r record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = run{identity: r.identity}
}

func (p *Process) run() run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// Ready waits until the process is ready. It fails when the process ends, or when ctx does; the error is
// an *Error with the last lines of the log.
func (p *Process) Ready(ctx context.Context) error {
	current := p.run()
	var last error
	for {
		if !current.alive() {
			return p.failure(current, current.ended())
		}
		err := probe(ctx, p.prober, p.health)
		if err == nil {
			return nil
		}
		// An attempt that was cut off by the end of ctx has less information than the one before.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return p.failure(current, fmt.Errorf("it is not ready (%w): %w", context.Cause(ctx), last))
		case <-time.After(pollInterval):
		}
	}
}

// ended returns the exit status of a process.
func (r run) ended() error {
	if r.PID == 0 {
		return errors.New("it was never started")
	}
	if r.exited == nil {
		return errors.New("it ended")
	}
	<-r.exited // it is dead: the reaper needs no more than a moment
	if *r.err != nil {
		return fmt.Errorf("it ended: %w", *r.err)
	}
	return errors.New("it ended with exit code 0")
}

// Restart stops the process, starts it again and waits until it is ready.
func (p *Process) Restart(ctx context.Context, flags ...string) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	if err := p.Start(ctx, flags...); err != nil {
		return err
	}
	return p.Ready(ctx)
}
