// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeSet is a set of Nodes, with the names they respond to and the topology labels they lack.
type nodeSet struct {
	topologyKeys []string
	nodes        map[string]nodeNames
	// matching has the Nodes that response to a name, lacking the number of Nodes without a topology label.
	matching map[string]map[string]bool
	lacking  map[string]int
}

// nodeNames are the names a Node responds to, and the topology labels it does not have.
type nodeNames struct{ names, lacks []string }

func newNodeSet(topologyKeys []string) *nodeSet {
	return &nodeSet{topologyKeys: topologyKeys, nodes: map[string]nodeNames{}, matching: map[string]map[string]bool{}, lacking: map[string]int{}}
}

// set adds or replaces a Node and returns the names whose Nodes changed. lacksChanged reports that a topology label is
// now on all Nodes, or not on all of them any more.
func (n *nodeSet) set(node metav1.Object) (changed []string, lacksChanged bool) {
	now := nodeNames{names: namesOf(node, n.topologyKeys)}
	for _, key := range n.topologyKeys {
		if node.GetLabels()[key] == "" {
			now.lacks = append(now.lacks, key)
		}
	}
	return n.replace(node.GetName(), now)
}

// remove removes a Node and returns the same as set.
func (n *nodeSet) remove(name string) (changed []string, lacksChanged bool) {
	return n.replace(name, nodeNames{})
}

func (n *nodeSet) replace(node string, now nodeNames) (changed []string, lacksChanged bool) {
	before := n.nodes[node]
	for _, key := range now.lacks {
		n.lacking[key]++
		lacksChanged = lacksChanged || n.lacking[key] == 1
	}
	for _, key := range before.lacks {
		n.lacking[key]--
		lacksChanged = lacksChanged || n.lacking[key] == 0
	}
	if slices.Equal(before.names, now.names) {
		if now.names != nil {
			n.nodes[node] = now
		}
		return nil, lacksChanged
	}
	for _, name := range before.names {
		if delete(n.matching[name], node); len(n.matching[name]) == 0 {
			delete(n.matching, name)
		}
	}
	for _, name := range now.names {
		if n.matching[name] == nil {
			n.matching[name] = map[string]bool{}
		}
		n.matching[name][node] = true
	}
	if n.nodes[node] = now; now.names == nil {
		delete(n.nodes, node)
	}
	return slices.Concat(before.names, now.names), lacksChanged
}

// exists reports whether there is a Node object of that name.
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
	// keys are the labels by which volumes use the name, with the number of these volumes.
	keys map[string]int
	// volumes are the volumes that use the name.
	volumes map[string]*volume
	// state is what was found last; empty without volumes.
	state presence
}

// maxFormer is how many Nodes are remembered at most of a name that another Node has taken over.
const maxFormer = 16

// addMatch notes that a Node responds to the name.
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
	// present: a Node responds to the name.
	present presence = "Present"
	// uncertain: no Node responds to the name, but one that exists could be the node.
	uncertain presence = "Uncertain"
	// absent: no Node that exists could be the node.
	absent presence = "Absent"
)

// presenceOf decides whether a name means a Node that exists, and reports why that is uncertain. A name that was never the name of
// a Node object, only the value of a label, can belong to any Node that lacks the label.
func (n *nodeSet) presenceOf(name string, id *identity) (presence, string) {
	if len(n.matching[name]) > 0 {
		return present, ""
	}
	for _, node := range slices.Sorted(maps.Keys(id.nodes)) {
		if n.exists(node) {
			return uncertain, fmt.Sprintf("no node has the name or topology label %q, but node %s, which had it, still exists", name, node)
		}
	}
	if _, isNode := id.nodes[name]; isNode {
		return absent, ""
	}
	for _, key := range slices.Sorted(maps.Keys(id.keys)) {
		if n.lacking[key] > 0 {
			return uncertain, fmt.Sprintf("no node has the label %s=%s, but a node without the label %s could be the one", key, name, key)
		}
	}
	return absent, ""
}
