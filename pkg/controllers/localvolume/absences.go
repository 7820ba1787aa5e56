// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Missing returns the names of the missing nodes and since when they are.
func (i *Inventory) Missing() map[string]time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	missing := make(map[string]time.Time, len(i.missing))
	for name, known := range i.missing {
		missing[name] = known.since
	}
	return missing
}

// AllMissing reports whether every one of these nodes is missing.
func (i *Inventory) AllMissing(nodes []string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.isStale(nodes)
}

// StillStale reports whether a volume is stale in the same absence of its nodes as before: a node that was back in between
// began another one.
func (i *Inventory) StillStale(stale Stale) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.isStale(stale.Nodes) && i.since(stale.Nodes).Equal(stale.Since)
}

// IsStale reports whether the volume of that name is stale.
func (i *Inventory) IsStale(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.volumes[name]
	return known != nil && i.isStale(known.nodes)
}

func (i *Inventory) isStale(nodes []string) bool {
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(node string) bool { _, missing := i.missing[node]; return !missing })
}

// since returns when the last of the missing nodes went missing.
func (i *Inventory) since(nodes []string) (last time.Time) {
	for _, node := range nodes {
		last = later(last, i.missing[node].since)
	}
	return last
}

// Stale returns the stale volumes, ordered by name. It checks the volumes of missing nodes only.
func (i *Inventory) Stale() []Stale {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := map[string]Stale{}
	for node := range i.missing {
		for name, known := range i.names[node].volumes {
			if _, ok := found[name]; ok || !i.isStale(known.nodes) {
				continue
			}
			found[name] = Stale{Volume: known.object, Nodes: known.nodes, Since: i.since(known.nodes), PhaseSince: known.phaseSince,
				Trouble: i.troubleOf(known.nodes), class: i.settings[known.object.Spec.StorageClassName],
				Unknown: slices.ContainsFunc(known.nodes, func(node string) bool { return len(i.names[node].nodes) == 0 })}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Stale) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
}

// Untouched is a volume of an opted-in class that is not cleaned up.
type Untouched struct {
	Volume *corev1.PersistentVolume
	// Reason is the reason of the event about it, Why the explanation.
	Reason, Why string
	// Node is the Node that may be the missing one.
	Node string
}

// Untouched returns the volumes that are not cleaned up: those of which no node is there by its name, but a Node that exists may be it
// under another one, then those whose source is not enabled, and those that do not name their nodes; each ordered by name.
func (i *Inventory) Untouched() []Untouched {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []Untouched
	for name := range i.uncertain {
		_, doubt := i.presenceOf(i.nodes, name)
		for _, known := range i.names[name].volumes {
			// One of several nodes that is uncertain is enough, and the first one is reported.
			if i.isUncertain(known.nodes) && name == known.nodes[slices.IndexFunc(known.nodes, i.uncertain.Has)] {
				found = append(found, Untouched{known.object, EventNodeUncertain, doubt.why, doubt.node})
			}
		}
	}
	for _, known := range i.untouched {
		found = append(found, Untouched{Volume: known.object, Reason: known.reason, Why: known.why})
	}
	slices.SortFunc(found, func(a, b Untouched) int {
		return cmp.Or(cmp.Compare(b.Reason, a.Reason), cmp.Compare(a.Volume.Name, b.Volume.Name)) // this is the order of the reasons
	})
	return found
}

func (i *Inventory) isUncertain(nodes []string) bool {
	return slices.ContainsFunc(nodes, i.uncertain.Has) &&
		!slices.ContainsFunc(nodes, func(name string) bool { return len(i.nodes.matching[name]) > 0 })
}

// Matches reports whether a Node has that name, or that value of a topology label.
func (i *Inventory) Matches(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.nodes.matching[name]) > 0
}

// stillAbsent reports whether none of the nodes of another state of the cluster could be one of these.
func (i *Inventory) stillAbsent(names []string, live *nodeSet) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range names {
		if i.names[name] == nil {
			return false
		}
		if state, _ := i.presenceOf(live, name); state != absent {
			return false
		}
	}
	return true
}

// everNamed returns the Nodes that could have one of the names by their own name or a former label, sorted.
func (i *Inventory) everNamed(names []string) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	nodes := sets.New(names...)
	for _, name := range names {
		if id := i.names[name]; id != nil {
			nodes.Insert(slices.Collect(maps.Keys(id.nodes))...)
		}
	}
	return sets.List(nodes)
}

// MissingNodes returns how many nodes are missing: several names can belong to one node.
func (i *Inventory) MissingNodes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	nodes := sets.Set[string]{}
	for name := range i.missing {
		i.addNodes(nodes, name)
	}
	return len(nodes)
}

// addNodes adds the nodes that a name stands for: the Nodes that responded to it, or an unknown one.
func (i *Inventory) addNodes(nodes sets.Set[string], name string) {
	for node, last := range i.names[name].nodes {
		if last {
			nodes.Insert(node)
		}
	}
	if len(i.names[name].nodes) == 0 {
		nodes.Insert(name)
	}
}

// census counts the nodes that volumes name: live are those present, and missing those that have something to be deleted, or of
// which the event of their loss has not come yet. live nil is the state from the events.
func (i *Inventory) census(live *nodeSet, toDo sets.Set[string]) Census {
	i.mu.Lock()
	defer i.mu.Unlock()
	if live == nil {
		live = i.nodes
	}
	there, missing := sets.Set[string]{}, sets.Set[string]{}
	for name, id := range i.names {
		if len(id.volumes) == 0 {
			continue
		}
		_, known := i.missing[name]
		switch state, _ := i.presenceOf(live, name); {
		case state == present:
			maps.Copy(there, live.matching[name])
		case state == uncertain:
			for node := range id.nodes {
				if live.exists(node) {
					there.Insert(node)
				}
			}
		case toDo.Has(name) || !known:
			i.addNodes(missing, name)
		}
	}
	missing = missing.Difference(there)
	return Census{Nodes: len(live.nodes), Missing: len(missing), Live: len(there), Unreachable: i.unreachable(missing.UnsortedList())}
}

// Knowledge is what outlives a process: how long nodes have been missing, and which Nodes responded to the names that volumes use.
type Knowledge struct {
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

// Knowledge returns what should outlive the process. Its time, by the clock of the API server, is to be set.
func (i *Inventory) Knowledge() Knowledge {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := Knowledge{Missing: make(map[string]time.Duration, len(i.missing)), Seen: map[string][]string{}, Registered: map[string]time.Time{}}
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
func (i *Inventory) Restore(m Knowledge, gap time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name, id := range i.names {
		nodes, seen := m.Seen[name]
		registered, known := m.Registered[name]
		if len(id.volumes) == 0 || !seen && !known {
			continue
		}
		for _, node := range nodes {
			id.nodes[node] = true
			i.had.add(node, name)
		}
		i.recall(name, registered)
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

// InterruptAll begins the absence of all nodes again: for a while nothing could be observed, and they may have been back. It reports
// whether there are any.
func (i *Inventory) InterruptAll() bool {
	missing := slices.Collect(maps.Keys(i.Missing()))
	i.mu.Lock()
	interrupted := len(missing)+len(i.outages) > 0
	i.restartOutages()
	i.mu.Unlock()
	i.Interrupt(missing)
	return interrupted
}
