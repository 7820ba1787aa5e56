// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// index has a set of values for each key, and no empty one.
type index map[string]sets.Set[string]

func (x index) add(key, value string) {
	if x[key] == nil {
		x[key] = sets.Set[string]{}
	}
	x[key].Insert(value)
}

func (x index) remove(key, value string) {
	if x[key].Delete(value); len(x[key]) == 0 {
		delete(x, key)
	}
}

// nodeSet is a set of Nodes, with the names they respond to and the topology labels they lack.
type nodeSet struct {
	topologyKeys []string
	nodes        map[string]nodeNames
	// matching has the Nodes that have a name, lacking those without a topology label.
	matching, lacking index
	// steps counts the changes, to order what was observed.
	steps int64
}

// nodeNames are the names a Node responds to, and the topology labels it does not have.
type nodeNames struct {
	names, lacks []string
	uid          types.UID
	// created is when it was registered, by the clock of the API server, and appeared the step at which it was first observed.
	created  time.Time
	appeared int64
}

func newNodeSet(topologyKeys []string) *nodeSet {
	return &nodeSet{topologyKeys: topologyKeys, nodes: map[string]nodeNames{}, matching: index{}, lacking: index{}}
}

func (n *nodeSet) step() int64 {
	n.steps++
	return n.steps
}

// set adds or replaces a Node and returns the names whose Nodes changed. lacksChanged reports that the topology labels that it
// lacks changed, or that it is another Node of the same name.
func (n *nodeSet) set(node metav1.Object) (changed []string, lacksChanged bool) {
	now := nodeNames{names: namesOf(node, n.topologyKeys), uid: node.GetUID(), created: node.GetCreationTimestamp().Time}
	if before, known := n.nodes[node.GetName()]; known && before.uid == now.uid {
		now.appeared = before.appeared
	} else {
		now.appeared = n.step()
	}
	for _, key := range n.topologyKeys {
		if node.GetLabels()[key] == "" {
			now.lacks = append(now.lacks, key)
		}
	}
	return n.replace(node.GetName(), now)
}

func (n *nodeSet) remove(name string) (changed []string, lacksChanged bool) {
	return n.replace(name, nodeNames{})
}

func (n *nodeSet) replace(node string, now nodeNames) (changed []string, lacksChanged bool) {
	before := n.nodes[node]
	for _, key := range before.lacks {
		n.lacking.remove(key, node)
	}
	for _, key := range now.lacks {
		n.lacking.add(key, node)
	}
	lacksChanged = !slices.Equal(before.lacks, now.lacks) || len(now.lacks) > 0 && before.appeared != now.appeared
	if n.nodes[node] = now; now.names == nil {
		delete(n.nodes, node)
	}
	if slices.Equal(before.names, now.names) {
		return nil, lacksChanged
	}
	for _, name := range before.names {
		n.matching.remove(name, node)
	}
	for _, name := range now.names {
		n.matching.add(name, node)
	}
	return slices.Concat(before.names, now.names), lacksChanged
}

func (n *nodeSet) exists(node string) bool {
	_, ok := n.nodes[node]
	return ok
}

// identity is what is known about a name by which volumes mean a node.
type identity struct {
	// nodes are the Nodes that have responded to the name since volumes use it, or since they exist: labels are mutable, so that
	// such a Node may be the one although it does not have that name any more. false: it has been deleted, and another Node has
	// responded since.
	nodes map[string]bool
	// there reports that a Node has the name now, and sighted that one has had it since the process started, or that an earlier
	// process recorded the name.
	there, sighted bool
	// seen is the step at which a Node last had the name; of a name that none ever had, at which the first volume used it. A
	// Node that was observed before is not the one, because both existed then. 0: unknown.
	seen int64
	// seenAt is a time, by the clock of the API server, at which a Node that had the name existed; of a name that none ever had, at
	// which it was recorded first. A Node that was registered before is not the one. Zero: unknown.
	seenAt time.Time
	// keys are the labels by which volumes use the name, with the number of these volumes.
	keys    map[string]int
	volumes map[string]*volume
	// state is what was found last; empty without volumes.
	state presence
}

// maxFormer is how many Nodes are remembered at most of a name that another Node has taken over.
const maxFormer = 16

func (id *identity) addMatch(node string, exists func(string) bool) {
	former := 0
	for other := range id.nodes {
		if exists(other) {
			continue
		}
		if id.nodes[other] = false; former == maxFormer {
			delete(id.nodes, other)
		} else {
			former++
		}
	}
	id.nodes[node] = true
}

// presence is what a nodeSet reports about a name.
type presence string

const (
	// present: a Node has the name.
	present presence = "Present"
	// uncertain: no Node has the name, but one that exists could be the node.
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
	case "topology.topolvm.io/node", "openebs.io/nodename", "topology.localdisk.csi.acstor.io/node", "topology.lvm.csi/node":
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
			const why = "no node has the name or topology label %q, but node %s, which had it, still exists"
			return uncertain, doubtful{node, fmt.Sprintf(why, name, node)}
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
			first.why = fmt.Sprintf("no node has the label %s=%s, but node %s without the label %[1]s could be the one: %[4]s",
				key, name, first.node, first.why)
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
	return i.reviewAll(names)
}
