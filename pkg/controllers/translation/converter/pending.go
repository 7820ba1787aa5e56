// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// pending are owners that were there when this process started and had no pass since. Of those whose Translations are in
// place, an earlier process reported what has no translation when it wrote the rest: to do so again, for each of thousands
// of Services, is what a restart must not cost.
type pending struct {
	mu    sync.Mutex
	units map[unit]struct{}
}

func (p *pending) add(units []unit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.units == nil {
		p.units = map[unit]struct{}{}
	}
	for _, u := range units {
		p.units[u] = struct{}{}
	}
}

// take reports whether an owner was pending. It is not any more.
func (p *pending) take(u unit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, found := p.units[u]
	delete(p.units, u)
	if len(p.units) == 0 {
		p.units = nil // a map does not shrink
	}
	return found
}

// atStart lets every object through, and notes the owners among those of the first list.
func (r *reconciler) atStart(of func(context.Context, client.Object) []unit) predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		if e.IsInInitialList {
			r.initial.add(of(context.Background(), e.Object))
		}
		return true
	}}
}
