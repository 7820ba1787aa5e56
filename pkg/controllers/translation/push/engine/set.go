// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"
	"slices"
)

// fewMembers is up to how many members a set is a slice: most sets have one or two, some have as many as there are
// Claims.
const fewMembers = 8

// set is a set that costs little while it is small. The zero set is empty.
type set[T comparable] struct {
	few  []T
	many map[T]struct{}
}

// add puts v into the set.
func (s *set[T]) add(v T) {
	switch {
	case s.many != nil:
		s.many[v] = struct{}{}
	case slices.Contains(s.few, v):
	case len(s.few) < fewMembers:
		s.few = append(s.few, v)
	default:
		s.many = make(map[T]struct{}, 2*fewMembers)
		for _, old := range s.few {
			s.many[old] = struct{}{}
		}
		s.many[v] = struct{}{}
		s.few = nil
	}
}

// remove takes v out of the set.
func (s *set[T]) remove(v T) {
	if s.many != nil {
		if delete(s.many, v); len(s.many) == 0 {
			s.many = nil
		}
		return
	}
	if i := slices.Index(s.few, v); i >= 0 {
		if s.few = slices.Delete(s.few, i, i+1); len(s.few) == 0 {
			s.few = nil
		}
	}
}

// size is the number of members.
func (s *set[T]) size() int { return len(s.few) + len(s.many) }

// all are the members, in no order. A member may be removed while they are gone through, but only the current one and
// only as the last thing.
func (s *set[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range s.few {
			if !yield(v) {
				return
			}
		}
		for v := range s.many {
			if !yield(v) {
				return
			}
		}
	}
}
