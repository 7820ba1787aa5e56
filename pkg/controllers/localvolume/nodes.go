// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeSet is a set of Nodes, with the names they respond to and the topology labels they lack.
type nodeSet struct {
	topologyKeys []string
	nodes        map[string]nodeNames
	// matching has the Nodes that respond to a name, lacking those without a topology label.
	matching map[string]map[string]bool
	lacking  map[string]map[string]bool
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
	return &nodeSet{topologyKeys: topologyKeys, nodes: map[string]nodeNames{}, matching: map[string]map[string]bool{}, lacking: map[string]map[string]bool{}}
}

// step returns the number of the next change.
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

// remove removes a Node and returns the same as set.
func (n *nodeSet) remove(name string) (changed []string, lacksChanged bool) {
	return n.replace(name, nodeNames{})
}

func (n *nodeSet) replace(node string, now nodeNames) (changed []string, lacksChanged bool) {
	before := n.nodes[node]
	for _, key := range before.lacks {
		delete(n.lacking[key], node)
	}
	for _, key := range now.lacks {
		if n.lacking[key] == nil {
			n.lacking[key] = map[string]bool{}
		}
		n.lacking[key][node] = true
	}
	lacksChanged = !slices.Equal(before.lacks, now.lacks) || len(now.lacks) > 0 && before.appeared != now.appeared
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
	// there reports that a Node responds to the name now, and sighted that one has since the process started, or that an earlier
	// process recorded the name.
	there, sighted bool
	// seen is the step at which a Node last responded to the name; of a name that none ever had, at which the first volume used it. A
	// Node that was observed before is not the one, because both existed then. 0: unknown.
	seen int64
	// seenAt is a time, by the clock of the API server, at which a Node that had the name existed; of a name that none ever had, at
	// which it was recorded first. A Node that was registered before is not the one. Zero: unknown.
	seenAt time.Time
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
