// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long a process may take to end when it is requested to. An API server may wait a minute for clients that watch;
// all it has is in etcd, so there is nothing to wait for.
func stopGrace(name string) time.Duration {
	if strings.Contains(name, "apiserver") {
		return 5 * time.Second
	}
	return 30 * time.Second
}

// Stop queries the process to end (SIGTERM) and waits until it did. One that takes too long, or longer than ctx allows, is killed.
// Stopping a process that does not run is no error.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace(p.name))
	defer cancel()
	err := p.end(ctx, syscall.SIGTERM)
	if ctx.Err() == nil {
		return err
	}
	return p.Kill(context.WithoutCancel(ctx))
}

// Terminate queries the process to end (SIGTERM) and waits until it did, however long it drains: only the end of ctx makes it give
// up, with an error.
func (p *Process) Terminate(ctx context.Context) error { return p.end(ctx, syscall.SIGTERM) }

// Kill ends the process as a crash would (SIGKILL) and waits until it has been deleted.
func (p *Process) Kill(ctx context.Context) error { return p.end(ctx, syscall.SIGKILL) }

func (p *Process) end(ctx context.Context, sig syscall.Signal) error {
	current := p.run()
	if err := current.signal(sig); err != nil {
		return fmt.Errorf("cannot end %s (pid %d): %w", p.name, current.PID, err)
	}
	if err := current.wait(ctx); err != nil {
		return fmt.Errorf("%s (pid %d) did not end: %w", p.name, current.PID, err)
	}
	return nil
}

// wait returns when the process has been deleted.
func (r run) wait(ctx context.Context) error {
	for r.alive() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.exited: // never, when another client started it
		case <-time.After(pollInterval):
		}
	}
	return nil
}
