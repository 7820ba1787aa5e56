// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/maphash"
	"iter"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// nodes finds nodes by their keys. A key is six words and each node has its own, so that a map with the keys once more
// would cost as much as half of the nodes do.
type nodes struct {
	hash func(backend.Key) uint64
	// byHash are the nodes by the hash of their keys; those that share one block together by their next.
	byHash map[uint64]*node
	count  int
}

func newNodes() nodes {
	seed := maphash.MakeSeed()
	return nodes{hash: func(key backend.Key) uint64 { return maphash.Comparable(seed, key) }, byHash: map[uint64]*node{}}
}

// get is the node of a key, or nil.
func (s *nodes) get(key backend.Key) *node {
	n := s.byHash[s.hash(key)]
	for n != nil && n.key != key {
		n = n.next
	}
	return n
}

// add puts in a node whose key none of the others has.
func (s *nodes) add(n *node) {
	hash := s.hash(n.key)
	n.next = s.byHash[hash]
	s.byHash[hash] = n
	s.count++
}

// remove removes a node.
func (s *nodes) remove(n *node) {
	hash := s.hash(n.key)
	switch first := s.byHash[hash]; {
	case first == n && n.next == nil:
		delete(s.byHash, hash)
	case first == n:
		s.byHash[hash] = n.next
	default:
		before := first
		for before != nil && before.next != n {
			before = before.next
		}
		if before == nil {
			return
		}
		before.next = n.next
	}
	n.next = nil
	s.count--
}

// all are the nodes, in no order.
func (s *nodes) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, n := range s.byHash {
			for ; n != nil; n = n.next {
				if !yield(n) {
					return
				}
			}
		}
	}
}
