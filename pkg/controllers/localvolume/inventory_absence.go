// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"time"
)

// Memory is what outlives a process: since when nodes are missing, and which Nodes responded to the names that volumes use.
type Memory struct {
	Missing map[string]time.Time
	// Seen has the Nodes that responded to a name, for each name that volumes use and a Node ever had.
	Seen map[string][]string
	// Confirmed is when the one who remembers last observed that all of Missing was still missing, by its own clock.
	Confirmed time.Time
}

// Memory returns what should outlive the process.
func (i *Inventory) Memory() Memory {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := Memory{Missing: i.missingSince(), Seen: map[string][]string{}, Confirmed: i.clock.Now()}
	for name, id := range i.names {
		if len(id.volumes) == 0 || len(id.nodes) == 0 {
			continue
		}
		for node := range id.nodes {
			m.Seen[name] = append(m.Seen[name], node)
		}
	}
	return m
}

// Restore restores the record of an earlier process. The Nodes of each name are always restored. The duration of an absence is restored
// only for nodes that were missing when this process started, and only if it was confirmed within the duration of a Lease: the node may
// have existed during a longer gap. It is added to the absence that this process observes, so that neither a gap nor a clock skew makes
// an absence appear longer than it is.
func (i *Inventory) Restore(m Memory) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name, nodes := range m.Seen {
		if id := i.names[name]; id != nil && len(id.volumes) > 0 {
			for _, node := range nodes {
				id.nodes[node] = true
				i.remember(node, name)
			}
			i.review(name, false)
		}
	}
	now := i.clock.Now()
	if gap := now.Sub(m.Confirmed); gap < 0 || gap >= Lease {
		return
	}
	for name, known := range i.missing {
		since, ok := m.Missing[name]
		if !ok || known.witnessed || m.Confirmed.Before(since) {
			continue
		}
		if since = now.Add(-m.Confirmed.Sub(since)); since.Before(known.since) {
			i.missing[name] = absence{since: since, witnessed: true}
		}
	}
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
