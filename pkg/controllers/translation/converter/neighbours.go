// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// neighbours remembers what each Node has that no other one should have.
type neighbours struct {
	mu    sync.Mutex
	nodes map[string]convert.Holdings
}

// set takes over what a Node has now, and returns the Nodes whose problems may have changed by that, sorted.
func (n *neighbours) set(name string, now convert.Holdings) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.nodes[name]
	if before.Equal(now) {
		return nil
	}
	if n.nodes == nil {
		n.nodes = map[string]convert.Holdings{}
	}
	if now.Equal(convert.Holdings{}) {
		delete(n.nodes, name)
	} else {
		n.nodes[name] = now
	}
	var affected []string
	for other, holdings := range n.nodes {
		if other != name && (holdings.Overlaps(before) || holdings.Overlaps(now)) {
			affected = append(affected, other)
		}
	}
	slices.Sort(affected)
	return affected
}

// problems returns those of a Node that shares something with others.
func (n *neighbours) problems(name string) []convert.Problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	own, others := n.nodes[name], map[string]convert.Holdings{}
	for other, holdings := range n.nodes {
		if other != name && holdings.Overlaps(own) {
			others[other] = holdings
		}
	}
	return own.Shared(others)
}

// compare notes what a Node shares with others, and has those reconciled whom a change concerns. Of one that has been
// deleted, object is nil.
func (r *reconciler) compare(u unit, s *subject) {
	if u.kind != convert.KindNode {
		return
	}
	var now convert.Holdings
	if s != nil {
		if node, ok := s.object.(*corev1.Node); ok {
			now = convert.HoldingsOf(node)
		}
	}
	for _, name := range r.neighbours.set(u.name, now) {
		r.enqueue(unit{kind: convert.KindNode, name: name})
	}
	if s != nil {
		s.shared = r.neighbours.problems(u.name)
	}
}
