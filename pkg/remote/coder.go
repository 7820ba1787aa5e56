// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// entry is an object as a cache keeps it.
type entry struct {
	key            types.NamespacedName
	version, index string
	text           []byte
}

// pack returns an object, or what is packed already, in the form that is cached.
func (s *store[T]) pack(object any) (*entry, error) {
	if packed, ok := object.(*entry); ok {
		return packed, nil
	}
	whole, ok := object.(T)
	if !ok {
		return nil, fmt.Errorf("a %T came where %T are watched", object, s.Example)
	}
	kept := s.Trim(whole)
	index := ""
	if s.Index != nil {
		index = s.Index(kept)
	}
	if s.Shorten != nil {
		s.Shorten(kept)
	}
	text, err := kept.Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack %T %s/%s: %w", object, whole.GetNamespace(), whole.GetName(), err)
	}
	return &entry{
		key:     types.NamespacedName{Namespace: whole.GetNamespace(), Name: whole.GetName()},
		version: whole.GetResourceVersion(), index: index, text: text,
	}, nil
}

// unpack returns what was kept of an object. It panics when the bytes are not those that pack made.
func (s *store[T]) unpack(packed *entry) T {
	kept := s.Example.DeepCopyObject().(T)
	if err := kept.Unmarshal(packed.text); err != nil {
		panic(fmt.Sprintf("unpack %T %s: %v", kept, packed.key, err))
	}
	if s.Expand != nil {
		s.Expand(kept)
	}
	return kept
}
