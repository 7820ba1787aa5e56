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
	missing := make(map[string]time.Time, len(i.missing))
	for name, known := range i.missing {
		missing[name] = known.since
	}
	return missing
}

// AllMissing says whether every one of these nodes is missing.
func (i *Inventory) AllMissing(nodes []string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.isStale(&volume{nodes: nodes})
}

// IsStale says whether the volume of that name is stale.
func (i *Inventory) IsStale(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.volumes[name]
	return known != nil && i.isStale(known)
}

func (i *Inventory) isStale(known *volume) bool {
	for _, node := range known.nodes {
		if _, ok := i.missing[node]; !ok {
			return false
		}
	}
	return len(known.nodes) > 0
}

// Stale returns the stale volumes, ordered by name. It looks at the volumes of missing nodes only.
func (i *Inventory) Stale() []Stale {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := map[string]Stale{}
	for node := range i.missing {
		for name, known := range i.pinned[node] {
			if _, ok := found[name]; ok || !i.isStale(known) {
				continue
			}
			stale := Stale{Volume: known.object, Nodes: known.nodes}
			for _, node := range known.nodes {
				if since := i.missing[node].since; since.After(stale.Since) {
					stale.Since = since
				}
			}
			found[name] = stale
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Stale) int { return cmp.Compare(a.Volume.Name, b.Volume.Name) })
}

// NotNodeBound returns the opted-in local volumes that do not name their nodes, ordered by name.
func (i *Inventory) NotNodeBound() []*corev1.PersistentVolume {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []*corev1.PersistentVolume
	for _, known := range i.unbound {
		found = append(found, known.object)
	}
	slices.SortFunc(found, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// Answers says whether a Node has that name, or that value of a topology label.
func (i *Inventory) Answers(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.answering[name] > 0
}

// census counts the named nodes: live are those present, and missing those that have something to be deleted, or of
// which the event of their loss has not come yet. present nil is what the events told.
func (i *Inventory) census(present *presence, toDo map[string]bool) Census {
	i.mu.Lock()
	defer i.mu.Unlock()
	census := Census{Nodes: len(i.nodes)}
	if present != nil {
		census.Nodes = present.nodes
	}
	for name := range i.pinned {
		_, missing := i.missing[name]
		live := !missing
		if present != nil {
			live = present.names[name]
		}
		switch {
		case live:
			census.Live++
		case toDo[name] || !missing:
			census.Missing++
		}
	}
	return census
}
