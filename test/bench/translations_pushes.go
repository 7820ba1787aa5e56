// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
)

// pushes drives an engine as the controller does: by a queue and several workers.
type pushes struct {
	engine  *engine.Engine
	queue   workqueue.TypedDelayingInterface[types.NamespacedName]
	workers int

	mu sync.Mutex
	// missing are the Claims that were not in sync yet.
	missing map[types.NamespacedName]struct{}
	done    chan struct{}
	err     error
}

func newPushes(b engine.Backend) *pushes {
	var defaults configv1alpha1.PushConfiguration
	configv1alpha1.SetDefaults_PushConfiguration(&defaults)
	p := &pushes{
		queue: workqueue.NewTypedDelayingQueue[types.NamespacedName](), workers: int(*defaults.Concurrency),
		missing: map[types.NamespacedName]struct{}{}, done: make(chan struct{}),
	}
	p.engine = engine.New(b, engine.Options{Mode: engine.Repair, Concurrency: p.workers, Wake: p.queue.Add})
	return p
}

// run pushes Claims until all of them are in sync.
func (p *pushes) run(ctx context.Context, claims []engine.Claim) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range claims {
		p.missing[claims[i].Name] = struct{}{}
		p.engine.Observe(claims[i])
	}
	for i := range claims {
		p.queue.Add(claims[i].Name)
	}
	var group sync.WaitGroup
	for range p.workers {
		group.Go(func() {
			for p.next(ctx) {
			}
		})
	}
	p.wait(ctx)
	cancel()
	p.queue.ShutDown()
	group.Wait()
	return p.err
}

// next pushes the next Claim of the queue, and is false when there will be none.
func (p *pushes) next(ctx context.Context) bool {
	name, ended := p.queue.Get()
	if ended {
		return false
	}
	defer p.queue.Done(name)
	outcome, err := p.engine.Push(ctx, name)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		p.end(fmt.Errorf("push %s: %w", name, err))
	case outcome.Stalled:
		p.end(fmt.Errorf("push %s: %s: %s", name, outcome.Reason, outcome.Message))
	case outcome.Reason == engine.ReasonSynced:
		p.landed(name)
	case outcome.RetryAfter > 0:
		p.queue.AddAfter(name, outcome.RetryAfter)
	}
	return true
}

func (p *pushes) landed(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.missing, name)
	if len(p.missing) == 0 {
		p.finish()
	}
}

func (p *pushes) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.finish()
}

// finish closes done, once.
func (p *pushes) finish() {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
}

// wait waits until everything is pushed, and reports the progress.
func (p *pushes) wait(ctx context.Context) {
	ticks := time.NewTicker(progressInterval)
	defer ticks.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticks.C:
			p.mu.Lock()
			missing := len(p.missing)
			p.mu.Unlock()
			fmt.Fprintf(os.Stderr, "%d claims are not in sync yet\n", missing)
		case <-ctx.Done():
			p.end(context.Cause(ctx))
			return
		}
	}
}
