// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// presence is what a nodeSet reports about a name.
type presence string

const (
	// present: a Node responds to the name.
	present presence = "Present"
	// uncertain: no Node responds to the name, but one that exists could be the node.
	uncertain presence = "Uncertain"
	// absent: no Node that exists could be the node.
	absent presence = "Absent"
)

// serverSkew is how far the clocks of the API servers of one cluster may differ, with the granularity of their timestamps.
const serverSkew = time.Minute

// namesNodes reports whether the value of a topology label is the name of the Node, by the definition of its driver. Then a Node of
// another name is not the one, whatever its labels are.
func namesNodes(key string) bool {
	switch key {
	case "topology.topolvm.io/node", "openebs.io/nodename", "topology.localdisk.csi.acstor.io/node":
		return true
	}
	return false
}

// doubtKeys returns the labels by which a Node without them could have the name, sorted. There are none if the name is that of a Node,
// or if volumes use it only by labels whose value is.
func (id *identity) doubtKeys(name string) []string {
	if _, isNode := id.nodes[name]; isNode {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(id.keys)), namesNodes)
}

// doubtful is the Node that makes it uncertain whether a name means one, and why.
type doubtful struct{ node, why string }

// presenceOf decides whether a name means a Node of a set, and reports why that is uncertain. A name that was never the name of
// a Node object, only the value of a label, can belong to a Node that lacks the label, unless that Node is known to be another one.
func (i *Inventory) presenceOf(set *nodeSet, name string) (presence, doubtful) {
	if len(set.matching[name]) > 0 {
		return present, doubtful{}
	}
	id := i.names[name]
	for _, node := range slices.Sorted(maps.Keys(id.nodes)) {
		if set.exists(node) {
			return uncertain, doubtful{node, fmt.Sprintf("no node has the name or topology label %q, but node %s, which had it, still exists", name, node)}
		}
	}
	for _, key := range id.doubtKeys(name) {
		var first doubtful
		for node := range set.lacking[key] {
			if first.node != "" && first.node < node {
				continue // the first one is named, so that the message remains the same
			}
			if doubt := i.doubt(set.nodes[node], node, id); doubt != "" {
				first = doubtful{node, doubt}
			}
		}
		if first.node != "" {
			first.why = fmt.Sprintf("no node has the label %s=%s, but node %s without the label %s could be the one: %s", key, name, first.node, key, first.why)
			return uncertain, first
		}
	}
	return absent, doubtful{}
}

// doubt returns why a Node that lacks a label could be the one that has a name as the value of the label; empty if it cannot be. Two
// Nodes that existed at the same time are two machines. The node of a name that was never observed existed when its volumes were made.
func (i *Inventory) doubt(entry nodeNames, node string, id *identity) string {
	if len(id.nodes) == 0 {
		if made := id.madeAt(); made.IsZero() || !entry.created.After(made.Add(serverSkew)) {
			return "it is as old as the volume"
		}
	}
	known, observed := i.nodes.nodes[node]
	if observed && known.uid == entry.uid && known.appeared < id.seen {
		return ""
	}
	if !entry.created.IsZero() && entry.created.Add(serverSkew).Before(id.seenAt) {
		return ""
	}
	return "it is not known to have existed when another node had that label"
}

// madeAt returns when the first volume that uses the name was made, by the clock of the API server; zero if that is unknown.
func (id *identity) madeAt() (first time.Time) {
	for _, volume := range id.volumes {
		if made := volume.object.CreationTimestamp.Time; first.IsZero() || made.Before(first) {
			first = made
		}
	}
	return first
}

// mayLack reports whether a Node without the label could have one of the names.
func (i *Inventory) mayLack(names []string, key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(names, func(name string) bool {
		id := i.names[name]
		return id != nil && slices.Contains(id.doubtKeys(name), key)
	})
}

// reviewDoubts reviews the names for which it matters that a Node lacks a label, after it changed from one state to another. It reports
// whether one of them changed.
func (i *Inventory) reviewDoubts(node string, before, now nodeNames) bool {
	var names []string
	uses := func(name string, lacks []string) bool {
		return slices.ContainsFunc(i.names[name].doubtKeys(name), func(key string) bool { return slices.Contains(lacks, key) })
	}
	if len(now.lacks) > 0 { // it may be one of the missing nodes
		for name := range i.missing {
			if uses(name, now.lacks) && i.doubt(now, node, i.names[name]) != "" {
				names = append(names, name)
			}
		}
	}
	if len(before.lacks) > 0 { // it is perhaps not in doubt any more
		for name := range i.uncertain {
			if uses(name, before.lacks) {
				names = append(names, name)
			}
		}
	}
	changed := false
	for _, name := range names {
		changed = i.review(name, true) || changed
	}
	return changed
}
