// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

// shared are things that several clients use, each made for the first and discarded with the last of them. It is not for many
// goroutines at a time.
type shared[T any] struct {
	make  func(key string) T
	drop  func(T)
	items map[string]*item[T]
}

type item[T any] struct {
	value T
	users int
}

// take returns the thing for one more user.
func (s *shared[T]) take(key string) T {
	if s.items[key] == nil {
		s.items[key] = &item[T]{value: s.make(key)}
	}
	s.items[key].users++
	return s.items[key].value
}

// release takes one user away.
func (s *shared[T]) release(key string) {
	i := s.items[key]
	if i.users--; i.users == 0 {
		s.drop(i.value)
		delete(s.items, key)
	}
}
