// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "iter"

// set is a set of pointers that costs little while it is small: most sets have one member or none, some have as many as
// there are Claims. The zero set is empty.
type set[T any] struct {
	// one is a member, nil only in an empty set.
	one    *T
	others map[*T]struct{}
}

// add puts v, which is not nil, into the set.
func (s *set[T]) add(v *T) {
	switch {
	case s.one == v:
	case s.one == nil:
		s.one = v
	case s.others == nil:
		s.others = map[*T]struct{}{v: {}}
	default:
		s.others[v] = struct{}{}
	}
}

// remove takes v out of the set.
func (s *set[T]) remove(v *T) {
	if s.one != v {
		s.omit(v)
		return
	}
	s.one = nil
	for other := range s.others {
		s.one = other
		s.omit(other)
		return
	}
}

func (s *set[T]) omit(other *T) {
	if delete(s.others, other); len(s.others) == 0 {
		s.others = nil
	}
}

// has reports whether v is a member.
func (s *set[T]) has(v *T) bool {
	if s.one == v {
		return v != nil
	}
	_, ok := s.others[v]
	return ok
}

// size is the number of members.
func (s *set[T]) size() int {
	if s.one == nil {
		return 0
	}
	return 1 + len(s.others)
}

// all are the members, in no order. A member may be removed while they have been deleted through, but only the current one and only
// as the last thing.
func (s *set[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if s.one == nil || !yield(s.one) {
			return
		}
		for v := range s.others {
			if !yield(v) {
				return
			}
		}
	}
}
