// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

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
