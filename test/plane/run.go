// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"time"
)

// startTimeout is how long one process may take until it is ready.
const startTimeout = 2 * time.Minute

// runAll does what run does for n processes of one kind.
func (p *Plane) runAll(ctx context.Context, n int, build func(i int) (command, error)) ([]*Process, error) {
	var all []*Process
	for i := range n {
		process, err := p.run(ctx, func() (command, error) { return build(i) })
		if err != nil {
			return all, err
		}
		all = append(all, process)
	}
	return all, nil
}

// run makes the process of the command run as the command specifies and returns its handle when it is ready.
func (p *Plane) run(ctx context.Context, build func() (command, error)) (*Process, error) {
	b, err := p.begin(ctx, build)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, b); err != nil {
		return nil, err
	}
	return b.process, nil
}

// beginning is a process that runs and may not be ready yet.
type beginning struct {
	process *Process
	// what was done, and when.
	what string
	at   time.Time
}

// begin makes the process of the command run as the command specifies.
func (p *Plane) begin(ctx context.Context, build func() (command, error)) (*beginning, error) {
	c, err := build()
	if err != nil {
		return nil, err
	}
	b := &beginning{process: p.process(c), at: time.Now()}
	b.what, err = b.process.ensure(ctx)
	return b, err
}

// await returns when a process that began is ready.
func (p *Plane) await(ctx context.Context, b *beginning) error {
	process := b.process
	ready, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	if err := process.Ready(ready); err != nil {
		// A plane that is not ready now is discarded: the next start creates a new one.
		if p.options.Detached {
			process.Stop(context.WithoutCancel(ctx)) //nolint:errcheck // the first error is the one to report
		}
		return err
	}
	p.options.Progress(fmt.Sprintf("%-32s %s, ready on %s (pid %d, %.1f s)", process.name, b.what, process.address, process.PID(), time.Since(b.at).Seconds()))
	return nil
}

// ensure starts the process unless it runs with the desired settings, and returns what it did.
func (p *Process) ensure(ctx context.Context) (string, error) {
	fingerprint, err := p.fingerprint(p.args)
	if err != nil {
		return "", err
	}
	r, known := p.state.process(p.name)
	what := "started"
	switch {
	case known && r.alive() && r.Fingerprint == fingerprint:
		p.adopt(r)
		return "runs already", nil
	case known && r.alive():
		p.adopt(r)
		if err := p.Stop(ctx); err != nil {
			return "", err
		}
		what = "restarted (its binary, flags or files changed)"
	case known && r.PID != 0:
		what = "started again"
	}
	return what, p.Start(ctx)
}

// process returns the handle of the command's process.
func (p *Plane) process(c command) *Process {
	return &Process{command: c, logFile: logFile(p.dir, c.name), detached: p.options.Detached, state: p.state, prober: p.prober}
}
