// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Missing returns the names of the missing nodes and since when they are.
func (i *Inventory) Missing() map[string]time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.missingSince()
}

func (i *Inventory) missingSince() map[string]time.Time {
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
	for _, node := range nodes {
		if _, ok := i.missing[node]; !ok {
			return false
		}
	}
	return len(nodes) > 0
}

// since returns when the last of the missing nodes went missing.
func (i *Inventory) since(nodes []string) (last time.Time) {
	for _, node := range nodes {
		if since := i.missing[node].since; since.After(last) {
			last = since
		}
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
				Unknown: slices.ContainsFunc(known.nodes, func(node string) bool { return len(i.names[node].nodes) == 0 })}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Stale) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
}

// Untouched is a volume of an opted-in class that is not cleaned up.
type Untouched struct {
	Volume *corev1.PersistentVolume
	Why    string
	// Node is the Node that may be the missing one.
	Node string
}

// Uncertain returns the volumes of which no node is there by its name, but a Node that exists may be it under another one,
// ordered by name.
func (i *Inventory) Uncertain() []Untouched {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []Untouched
	for name := range i.uncertain {
		_, doubt := i.presenceOf(i.nodes, name)
		for _, known := range i.names[name].volumes {
			// One of several nodes that is uncertain is enough, and the first one is reported.
			if i.isUncertain(known.nodes) && name == known.nodes[slices.IndexFunc(known.nodes, i.nameIsUncertain)] {
				found = append(found, Untouched{Volume: known.object, Why: doubt.why, Node: doubt.node})
			}
		}
	}
	slices.SortFunc(found, func(a, b Untouched) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
	return found
}

func (i *Inventory) isUncertain(nodes []string) bool {
	if !slices.ContainsFunc(nodes, i.nameIsUncertain) {
		return false
	}
	return !slices.ContainsFunc(nodes, func(name string) bool { return len(i.nodes.matching[name]) > 0 })
}

func (i *Inventory) nameIsUncertain(name string) bool { return i.names[name].state == uncertain }

// NotNodeBound returns the volumes that do not name their nodes, ordered by name.
func (i *Inventory) NotNodeBound() []Untouched {
	return i.untouchedBecause(func(v *volume) string { return v.unbound })
}

// Unsupported returns the volumes whose source is not enabled, ordered by name.
func (i *Inventory) Unsupported() []Untouched {
	return i.untouchedBecause(func(v *volume) string { return v.unsupported })
}

func (i *Inventory) untouchedBecause(reason func(*volume) string) []Untouched {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []Untouched
	for _, known := range i.untouched {
		if why := reason(known); why != "" {
			found = append(found, Untouched{Volume: known.object, Why: why})
		}
	}
	slices.SortFunc(found, func(a, b Untouched) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
	return found
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
	nodes := map[string]bool{}
	for _, name := range names {
		nodes[name] = true
		if id := i.names[name]; id != nil {
			for node := range id.nodes {
				nodes[node] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(nodes))
}

// MissingNodes returns how many nodes are missing: several names can belong to one node.
func (i *Inventory) MissingNodes() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	nodes := map[string]bool{}
	for name := range i.missing {
		i.addNodes(nodes, name)
	}
	return len(nodes)
}

// addNodes adds the nodes that a name stands for: the Nodes that responded to it, or an unknown one.
func (i *Inventory) addNodes(nodes map[string]bool, name string) {
	for node, last := range i.names[name].nodes {
		if last {
			nodes[node] = true
		}
	}
	if len(i.names[name].nodes) == 0 {
		nodes[name] = true
	}
}

// census counts the nodes that volumes name: live are those present, and missing those that have something to be deleted, or of
// which the event of their loss has not come yet. live nil is the state from the events.
func (i *Inventory) census(live *nodeSet, toDo map[string]bool) Census {
	i.mu.Lock()
	defer i.mu.Unlock()
	if live == nil {
		live = i.nodes
	}
	there, missing := map[string]bool{}, map[string]bool{}
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
					there[node] = true
				}
			}
		case toDo[name] || !known:
			i.addNodes(missing, name)
		}
	}
	for node := range there {
		delete(missing, node)
	}
	return Census{Nodes: len(live.nodes), Missing: len(missing), Live: len(there)}
}
