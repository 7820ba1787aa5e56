// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

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

// set reports what problems an owner has now, and returns those that it did not have before.
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
