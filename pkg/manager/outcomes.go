// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// outcomes are how the reconciles of a controller ended, since the process runs.
type outcomes struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// LastSuccess and LastFailure are times, empty for never. What failed is in the log: it has names of objects.
	LastSuccess string `json:"lastSuccess,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`
}

// tally counts reconciles. It is an observe.Observer.
type tally struct {
	now func() time.Time

	mu   sync.Mutex
	done map[string]outcomes
}

func newTally(now func() time.Time) *tally {
	return &tally{now: now, done: map[string]outcomes{}}
}

// Begin implements observe.Observer.
func (a *tally) Begin(ctx context.Context, controller, _ string) (context.Context, func(reconcile.Result, error)) {
	return ctx, func(_ reconcile.Result, err error) {
		at := a.now().UTC().Format(time.RFC3339)
		a.mu.Lock()
		defer a.mu.Unlock()
		o := a.done[controller]
		if err != nil {
			o.Failed, o.LastFailure = o.Failed+1, at
		} else {
			o.Succeeded, o.LastSuccess = o.Succeeded+1, at
		}
		a.done[controller] = o
	}
}

func (a *tally) snapshot() map[string]outcomes {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.done)
}
