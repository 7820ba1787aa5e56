// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"slices"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// readiness knows which controllers still fill their caches. A manager is ready when none does; the leader
// then works, and a standby can take over without a pause.
type readiness struct {
	mu      sync.Mutex
	pending []string
}

// check returns an error that names the controllers that are not ready.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		return fmt.Errorf("the caches of these controllers are not filled yet: %v", slices.Compact(slices.Sorted(slices.Values(r.pending))))
	}
	return nil
}

func (r *readiness) begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, name)
}

func (r *readiness) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.pending, name); i >= 0 {
		r.pending = slices.Delete(r.pending, i, i+1)
	}
}

// watch returns a manager that adds to mgr and notes the warm-up of what it adds under the given name.
func (r *readiness) watch(mgr ctrl.Manager, name string) ctrl.Manager {
	return &watchedManager{Manager: mgr, ready: r, name: name}
}

type watchedManager struct {
	ctrl.Manager
	ready *readiness
	name  string
}

// Add implements manager.Manager.
func (m *watchedManager) Add(runnable manager.Runnable) error {
	warm, ok := runnable.(warmer)
	if !ok {
		return m.Manager.Add(runnable)
	}
	m.ready.begin(m.name)
	return m.Manager.Add(&watchedRunnable{warmer: warm, done: func() { m.ready.end(m.name) }})
}

// warmer is what controller-runtime's controllers are to their manager: Warmup runs on every replica and
// returns when the caches are filled, Start runs on the leader.
type warmer interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(ctx context.Context) error
}

type watchedRunnable struct {
	warmer
	done func()
}

// Warmup implements warmer.
func (w *watchedRunnable) Warmup(ctx context.Context) error {
	if err := w.warmer.Warmup(ctx); err != nil {
		return err
	}
	w.done()
	return nil
}
