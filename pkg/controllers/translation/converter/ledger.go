// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// problem is why an owner, or a part of it, is not translated.
type problem struct {
	convert.Problem
	// blocks reports that it keeps Translations from being written, and not only a part of the owner from having one.
	blocks bool
	// shares reports that it is about something that another owner has, too. Nothing is left out for it.
	shares bool
	// silent reports that there is no event.
	silent bool
}

func blocked(reason, message string) problem {
	return problem{Problem: convert.Problem{Reason: reason, Message: message}, blocks: true}
}

// ledger remembers the problems of owners, so that each is reported once, and counts them by reason.
type ledger struct {
	skipped, blocked, sharing *prometheus.GaugeVec

	mu       sync.Mutex
	problems map[unit][]problem
}

func newLedger(m *meters) *ledger {
	return &ledger{skipped: m.skipped, blocked: m.blocked, sharing: m.sharing, problems: map[unit][]problem{}}
}

// set records the problems of an owner, and returns the new ones.
func (l *ledger) set(u unit, now []problem) []problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.problems[u]
	for _, p := range before {
		l.gauge(p).Dec()
	}
	var news []problem
	for _, p := range now {
		l.gauge(p).Inc()
		if !slices.Contains(before, p) {
			news = append(news, p)
		}
	}
	if len(now) == 0 {
		delete(l.problems, u)
	} else {
		l.problems[u] = now
	}
	return news
}

func (l *ledger) gauge(p problem) prometheus.Gauge {
	switch {
	case p.blocks:
		return l.blocked.WithLabelValues(p.Reason)
	case p.shares:
		return l.sharing.WithLabelValues(p.Reason)
	default:
		return l.skipped.WithLabelValues(p.Reason)
	}
}

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
