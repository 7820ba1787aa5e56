// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package naming gives the copies of discovered objects their names. Users write these names into their routes, so the
// rules are those of the original.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxLength is the length from which on a name is shortened.
	maxLength = 63
	// A component longer than maxComponent becomes its first prefixLength characters and hashLength of its hash.
	maxComponent = 31
	hashLength   = 6
	prefixLength = maxComponent - hashLength

	// sliceHashLength makes two slices of one Service with one name a matter of one in a million millions.
	sliceHashLength = 10
)

// Service returns the name of the copy of a service: <backend>-<service>. When that has 63 characters or more, its
// components are shortened, the last one first, until it is shorter or none is left. Of a backend and a service whose
// names are DNS labels it is a DNS label.
func Service(backend, service string) string {
	components := []string{backend, service}
	name := strings.Join(components, "-")
	for i := len(components) - 1; i >= 0 && len(name) >= maxLength; i-- {
		components[i] = shorten(components[i])
		name = strings.Join(components, "-")
	}
	return name
}

// Slice returns the name of the copy of an EndpointSlice, by the name of the copy of its Service and by what notifies it from the
// other slices of that Service in the backend. It does not change with what is in the slice.
func Slice(copyName, id string) string {
	return copyName + "-" + hash(id, sliceHashLength)
}

func shorten(component string) string {
	if len(component) <= maxComponent {
		return component
	}
	return component[:prefixLength] + hash(component, hashLength)
}

func hash(text string, length int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:length]
}
