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
	// known are all that it ever waited for, each once.
	known []string
	// followers are what follows kinds for a controller, by its name.
	followers map[string][]follower
	// held are controllers that wait for permissions, with what is missing. The replica is ready without them.
	held map[string]string
}

// follower watches kinds that may not be served. Idle returns the kinds that it does not watch, with the reasons.
type follower interface{ Idle() []string }

func (r *readiness) check() error {
	if waiting := r.waitingFor(); len(waiting) > 0 {
		return fmt.Errorf("waiting for %s", strings.Join(waiting, ", "))
	}
	return nil
}

func (r *readiness) waitingFor() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := slices.Sorted(slices.Values(r.pending))
	return append([]string{}, slices.Compact(waiting)...)
}

// report returns a line for each thing that was ever waited for, in the form of Kubernetes' health checks.
func (r *readiness) report() string {
	waiting := r.waitingFor()
	r.mu.Lock()
	defer r.mu.Unlock()
	var report strings.Builder
	for _, what := range r.known {
		if slices.Contains(waiting, what) {
			fmt.Fprintf(&report, "[-]%s: waiting\n", what)
		} else {
			fmt.Fprintf(&report, "[+]%s ok\n", what)
		}
	}
	if len(waiting) > 0 {
		return report.String() + "readyz check failed\n"
	}
	return report.String() + "readyz check passed\n"
}

func (r *readiness) follow(controller string, f follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers == nil {
		r.followers = map[string][]follower{}
	}
	r.followers[controller] = append(r.followers[controller], f)
}

// idle returns the kinds that a controller does not watch, with the reasons.
func (r *readiness) idle(controller string) []string {
	r.mu.Lock()
	followers := r.followers[controller]
	r.mu.Unlock()
	var idle []string
	for _, f := range followers {
		idle = append(idle, f.Idle()...)
	}
	return idle
}

// hold records why a controller waits for permissions, and reports whether that is new.
func (r *readiness) hold(controller, reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[string]string{}
	}
	news := r.held[controller] != reason
	r.held[controller] = reason
	return news
}

// unhold records that a controller has its permissions.
func (r *readiness) unhold(controller string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, controller)
}

// heldBack is why a controller waits for permissions, "" when it does not.
func (r *readiness) heldBack(controller string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held[controller]
}

func (r *readiness) begin(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, what)
	if !slices.Contains(r.known, what) {
		r.known = append(r.known, what)
	}
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
	return &watchedManager{Manager: mgr, ready: r, name: name, caches: cachesOf(name)}
}

// cachesOf returns what readiness calls the caches of a controller.
func cachesOf(controller string) string { return "the caches of controller " + controller }

type watchedManager struct {
	ctrl.Manager
	ready        *readiness
	name, caches string
}

// Add implements manager.Manager.
func (m *watchedManager) Add(runnable manager.Runnable) error {
	if f, ok := runnable.(follower); ok {
		m.ready.follow(m.name, f)
	}
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
