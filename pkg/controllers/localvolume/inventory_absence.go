// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"time"
)

// Memory is what outlives a process: how long nodes have been missing, and which Nodes responded to the names that volumes use.
type Memory struct {
	// Missing is how long nodes have been observed to be missing without a break, until Confirmed.
	Missing map[string]time.Duration
	// Seen has the Nodes that responded to a name, for each name that volumes use and a Node ever had.
	Seen map[string][]string
	// Registered has a time for each name that a Node without a label could have: a Node that was registered before, by the clock of the
	// API server, is not the one. The zero time is Confirmed.
	Registered map[string]time.Time
	// Confirmed is when the one who remembers last observed that all of Missing was still missing, by the clock of the API server.
	Confirmed time.Time
}

// Memory returns what should outlive the process. Its time, by the clock of the API server, is to be set.
func (i *Inventory) Memory() Memory {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := Memory{Missing: make(map[string]time.Duration, len(i.missing)), Seen: map[string][]string{}, Registered: map[string]time.Time{}}
	now := i.clock.Now()
	for name, known := range i.missing {
		m.Missing[name] = now.Sub(known.since)
	}
	for name, id := range i.names {
		if len(id.volumes) == 0 {
			continue
		}
		if (len(id.nodes) == 0 || !id.seenAt.IsZero()) && len(id.doubtKeys(name)) > 0 {
			m.Registered[name] = id.seenAt
		}
		for node := range id.nodes {
			m.Seen[name] = append(m.Seen[name], node)
		}
	}
	return m
}

// Restore restores the record of an earlier process, which was confirmed the given time ago at most, by the clock of the API server. The
// Nodes of each name are always restored. The duration of an absence is restored only for nodes that were missing when this process
// started, and only if it was confirmed within the duration of a Lease: the node may have existed during a longer gap. It is added to the
// absence that this process observes. No clock of another machine is involved.
func (i *Inventory) Restore(m Memory, gap time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name, nodes := range m.Seen {
		if id := i.names[name]; id != nil && len(id.volumes) > 0 {
			for _, node := range nodes {
				id.nodes[node] = true
				i.remember(node, name)
			}
			i.recall(name, m.Registered[name])
		}
	}
	for name, registered := range m.Registered {
		if id := i.names[name]; id != nil && len(id.volumes) > 0 {
			i.recall(name, registered)
		}
	}
	if gap < 0 || gap >= Lease {
		return
	}
	now := i.clock.Now()
	for name, known := range i.missing {
		observed, ok := m.Missing[name]
		if !ok || known.witnessed {
			continue
		}
		if since := now.Add(-observed); since.Before(known.since) {
			i.missing[name] = absence{since: since, witnessed: true}
		}
	}
}

// recall takes over what an earlier process recorded of a name. What this process found when it started proves nothing about Nodes that
// were registered while none ran.
func (i *Inventory) recall(name string, registered time.Time) {
	id := i.names[name]
	if !id.sighted {
		id.sighted, id.seen = true, 0
	}
	id.seenAt = later(id.seenAt, registered)
	i.review(name, false)
}

// Interrupt begins the absence of nodes again: one of them was seen although its event has not come yet.
func (i *Inventory) Interrupt(nodes []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range nodes {
		if _, ok := i.missing[name]; ok {
			i.missing[name] = absence{since: i.clock.Now(), witnessed: true}
		}
	}
}

// InterruptAll begins the absence of all nodes again: for a while nothing could be observed, and they may have been back.
func (i *Inventory) InterruptAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name := range i.missing {
		i.missing[name] = absence{since: i.clock.Now(), witnessed: true}
	}
}
