// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

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
