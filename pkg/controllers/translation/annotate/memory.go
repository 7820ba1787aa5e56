// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// memory is what outlives a reconcile. A restart loses all of it: the hosts are listed, and problems reported, once more. It has no mutex,
// because one reconcile runs at a time.
type memory struct {
	// waits are what Nodes wait for, differences are between a Node and what another client annotated it with.
	waits, differences troubles
	// listed is when the last list of the hosts ended, unlisted why it failed, and hosts are their ids by name.
	listed   time.Time
	unlisted error
	hosts    map[string][]string
}

func newMemory(m *meters) *memory {
	return &memory{
		waits:       troubles{gauge: m.waiting, known: map[string]convert.Problem{}},
		differences: troubles{gauge: m.differing, known: map[string]convert.Problem{}},
	}
}

// discard drops what is remembered of a Node that has been deleted.
func (m *memory) discard(node string) {
	m.waits.end(node)
	m.differences.end(node)
}

// troubles are problems of Nodes, each of which is reported once, and counted.
type troubles struct {
	gauge *prometheus.GaugeVec
	known map[string]convert.Problem
}

// set records the problem of a Node, and returns whether it is new. The various errors of a backend that does not respond count
// as one.
func (t *troubles) set(node string, now convert.Problem) bool {
	before, known := t.known[node]
	if known {
		t.gauge.WithLabelValues(before.Reason).Dec()
	}
	t.gauge.WithLabelValues(now.Reason).Inc()
	t.known[node] = now
	return !known || before.Reason != now.Reason || now.Reason != reasonBackend && before.Message != now.Message
}

func (t *troubles) end(node string) {
	if before, known := t.known[node]; known {
		t.gauge.WithLabelValues(before.Reason).Dec()
		delete(t.known, node)
	}
}
