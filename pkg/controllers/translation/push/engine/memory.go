// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// id is what identifies a thing, in a third of the memory of the text of a UUID: the UUID, in the order of the texts, and of any
// other text a truncated SHA-256. The zero id is that of the empty text.
type id [16]byte

func idOf[T ~string](text T) id {
	if text == "" {
		return id{}
	}
	if len(text) == len(uuid.UUID{}.String()) {
		if parsed, err := uuid.Parse(string(text)); err == nil {
			return id(parsed)
		}
	}
	sum := sha256.Sum256([]byte(text))
	return id(sum[:len(id{})])
}

func (i id) compare(other id) int { return bytes.Compare(i[:], other[:]) }

// contentOf distinguishes lists of items.
func contentOf(items []backend.Item) id {
	hash := sha256.New()
	var length [8]byte
	for _, item := range items {
		for _, text := range []string{item.Kind, item.Parent, item.Body} {
			hash.Write(binary.LittleEndian.AppendUint64(length[:0], uint64(len(text))))
			hash.Write([]byte(text))
		}
	}
	return id(hash.Sum(nil)[:len(id{})])
}

// digest is a truncated SHA-256 of a body and its parent. The zero digest means that none is known.
type digest [16]byte

// String is the digest in hexadecimal digits; empty when none is known.
func (d digest) String() string {
	if d == (digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// parseDigest is the digest that String wrote, and the zero digest for anything else.
func parseDigest(s string) digest {
	var d digest
	if len(s) != hex.EncodedLen(len(d)) {
		return digest{}
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return digest{}
	}
	return d
}

// digestOf is one digest for all bodies that are equal as JSON values, under one parent. Numbers count as written: one that does
// not fit a float keeps all its digits.
func digestOf(body []byte, parent string) digest {
	h := sha256.New()
	h.Write(canonical(body))
	h.Write([]byte{0})
	h.Write([]byte(parent))
	return digest(h.Sum(nil)[:len(digest{})])
}

// canonical is body with sorted keys and without blanks; what is no JSON remains unchanged.
func canonical(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return body
	}
	out, err := json.Marshal(value)
	if err != nil {
		return body
	}
	return out
}

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
