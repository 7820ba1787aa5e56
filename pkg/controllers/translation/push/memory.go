// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// mostQueued is the number of Translations of the backlog that are queued at a time: enough for all workers.
const mostQueued = 500

// memory is what outlives a reconcile, besides what the engine and realization know. A restart loses all of it: the first list has what
// was written, and is the backlog. The zero value is empty.
type memory struct {
	mu sync.Mutex
	// written are the Translations that Groundskeeper wrote, until the watch delivers them.
	written map[types.NamespacedName]*packed.Translation
	// backlog has the Translations that existed at startup and are pushed with low priority. A queue would need ten times as much
	// memory per Translation, and does not release it.
	backlog []reconcile.Request
	// fenced are the Translations whose last push was not allowed.
	fenced map[types.NamespacedName]bool
	// strangers is what the last complete comparison found that is of no Translation, and fence why pushes are not allowed; "" if they are.
	strangers []string
	fence     string
}

func (m *memory) drop(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.written, name)
}

func (m *memory) addToBacklog(request reconcile.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.backlog = append(m.backlog, request)
}

// hasBacklog reports whether some Translations are not queued yet.
func (m *memory) hasBacklog() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.backlog) > 0
}

// moveBacklog fills a queue. Queued Translations with a higher priority keep it.
func (m *memory) moveBacklog(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.backlog) == 0 {
		return
	}
	n := min(max(mostQueued-queue.Len(), 0), len(m.backlog))
	moved := m.backlog[:n]
	if m.backlog = m.backlog[n:]; len(m.backlog) == 0 {
		m.backlog = nil
	}
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, moved...)
		return
	}
	for _, request := range moved {
		queue.Add(request)
	}
}

// compared replaces what the last comparison found, and returns all findings.
func (m *memory) compared(strangers []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.strangers = strangers
	return m.findings()
}

// pushed records why the push of a Translation was not allowed, "" if it was, and returns all findings, and whether that began or
// ended. It begins with the second rejection in a row: after the first one, a process that lost the Lease exits.
func (m *memory) pushed(name types.NamespacedName, fence string) (findings []string, changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.fence != ""
	switch {
	case fence == "":
		if delete(m.fenced, name); len(m.fenced) == 0 {
			m.fence = ""
		}
	case m.fenced[name]:
		m.fence = fence
	default:
		if m.fenced == nil {
			m.fenced = map[types.NamespacedName]bool{}
		}
		m.fenced[name] = true
	}
	return m.findings(), was != (m.fence != "")
}

// findings are all at present. The caller holds the lock.
func (m *memory) findings() []string {
	if m.fence == "" {
		return m.strangers
	}
	return append(slices.Clone(m.strangers), "the network backend is not written: "+m.fence)
}

// latest returns a Translation as last passed to the engine, or as Groundskeeper wrote it since; nil if the engine has none of this
// name.
func (r *reconciler) latest(name types.NamespacedName) *packed.Translation {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return r.latestLocked(name)
}

func (r *reconciler) latestLocked(name types.NamespacedName) *packed.Translation {
	if written := r.memory.written[name]; written != nil {
		return written
	}
	if passed, ok := r.engine.Items(name).(resources); ok {
		return passed.Translation
	}
	return nil
}

// isLatest reports whether this version was observed, or written by Groundskeeper.
func (r *reconciler) isLatest(translation *midonetv1.Translation) bool {
	latest := r.latest(client.ObjectKeyFromObject(translation))
	return latest != nil && latest.GetResourceVersion() == translation.ResourceVersion && latest.GetUID() == translation.UID
}

// wrote records the result of a write, unless the watch has delivered a newer version.
func (r *reconciler) wrote(before, after *packed.Translation) {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	name := before.Key()
	if r.latestLocked(name) != before {
		return
	}
	if r.memory.written == nil {
		r.memory.written = map[types.NamespacedName]*packed.Translation{}
	}
	r.memory.written[name] = after
}
