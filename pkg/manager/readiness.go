// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// apiServer is what readiness waits for first.
const apiServer = "the API server"

// readiness knows what a manager still waits for: the API server, and then every controller that fills its
// caches. When there is nothing left the leader works, and a standby can take over without a pause.
type readiness struct {
	mu      sync.Mutex
	pending []string
}

// check returns an error that names what is waited for.
func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		return fmt.Errorf("waiting for %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(r.pending))), ", "))
	}
	return nil
}

func (r *readiness) begin(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, what)
}

func (r *readiness) end(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.pending, what); i >= 0 {
		r.pending = slices.Delete(r.pending, i, i+1)
	}
}

// watch returns a manager that adds to mgr and waits for the warm-up of what it adds, as the controller name.
func (r *readiness) watch(mgr ctrl.Manager, name string) ctrl.Manager {
	return &watchedManager{Manager: mgr, ready: r, caches: "the caches of controller " + name}
}

type watchedManager struct {
	ctrl.Manager
	ready  *readiness
	caches string
}

// Add implements manager.Manager.
func (m *watchedManager) Add(runnable manager.Runnable) error {
	warm, ok := runnable.(warmer)
	if !ok {
		return m.Manager.Add(runnable)
	}
	m.ready.begin(m.caches)
	return m.Manager.Add(&watchedRunnable{warmer: warm, done: func() { m.ready.end(m.caches) }})
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
