// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// message is what has a form in protobuf.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal(text []byte) error
}

// entry is an object as a cache keeps it.
type entry struct {
	key            types.NamespacedName
	version, index string
	text           []byte
}

// coder packs and unpacks objects.
type coder[T Object] struct {
	example T
	trim    func(T) T
	index   func(T) string
}

func newCoder[T Object](example T, trim func(T) T, index func(T) string) (*coder[T], error) {
	if _, ok := any(example).(message); !ok {
		return nil, fmt.Errorf("%T has no form in protobuf", example)
	}
	return &coder[T]{example: example, trim: trim, index: index}, nil
}

// pack returns an object, or what is packed already, in the form that is cached.
func (c *coder[T]) pack(object any) (*entry, error) {
	if packed, ok := object.(*entry); ok {
		return packed, nil
	}
	whole, ok := object.(T)
	if !ok {
		return nil, fmt.Errorf("a %T came where %T are watched", object, c.example)
	}
	kept := c.trim(whole)
	text, err := any(kept).(message).Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack %T %s/%s: %w", object, whole.GetNamespace(), whole.GetName(), err)
	}
	packed := &entry{key: types.NamespacedName{Namespace: whole.GetNamespace(), Name: whole.GetName()}, version: whole.GetResourceVersion(), text: text}
	if c.index != nil {
		packed.index = c.index(kept)
	}
	return packed, nil
}

// unpack returns what was kept of an object. It panics when the bytes are not those that pack made.
func (c *coder[T]) unpack(packed *entry) T {
	kept := c.example.DeepCopyObject().(T)
	if err := any(kept).(message).Unmarshal(packed.text); err != nil {
		panic(fmt.Sprintf("unpack %T %s: %v", kept, packed.key, err))
	}
	return kept
}
