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

// id is a compact identifier, a third of the size of the text of a UUID: the UUID itself, which has the same order, or a truncated
// SHA-256 of any other text. The zero id stands for the empty text.
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

// contentOf returns a digest of a list of items.
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

// String returns the digest in hexadecimal digits; empty if none is known.
func (d digest) String() string {
	if d == (digest{}) {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// parseDigest parses the result of String. It returns the zero digest for any other text.
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

// digestOf returns the digest of a body under a parent. Bodies that are equal as JSON values have the same digest. Numbers are
// compared as written, so those that do not fit a float keep all digits.
func digestOf(body []byte, parent string) digest {
	h := sha256.New()
	h.Write(canonical(body))
	h.Write([]byte{0})
	h.Write([]byte(parent))
	return digest(h.Sum(nil)[:len(digest{})])
}

// canonical returns body with sorted keys and without whitespace. Text that is not JSON remains unchanged.
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

// set is a set of pointers that is optimized for zero or one member, which most sets have; some have as many as there are Claims.
// The zero value is empty.
type set[T any] struct {
	// one is a member; it is nil only if the set is empty.
	one    *T
	others map[*T]struct{}
}

// add adds v, which must not be nil.
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

func (s *set[T]) has(v *T) bool {
	if s.one == v {
		return v != nil
	}
	_, ok := s.others[v]
	return ok
}

// size returns the number of members.
func (s *set[T]) size() int {
	if s.one == nil {
		return 0
	}
	return 1 + len(s.others)
}

// all iterates over the members, in no order. The loop may remove the current member, as its last statement.
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
