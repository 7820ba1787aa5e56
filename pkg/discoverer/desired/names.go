// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxNameLength is the length from which on a name is shortened.
	maxNameLength = 63
	// A component longer than maxComponent becomes its first prefixLength characters and hashLength of its hash.
	maxComponent = 31
	hashLength   = 6
	prefixLength = maxComponent - hashLength

	// sliceHashLength makes two slices of one Service with one name a matter of one in a million millions.
	sliceHashLength = 10
)

// CopyName returns the name of the copy of a service: <backend>-<service>. Users write these names into their routes, so the rules
// are those of the original: a name of 63 characters or more has its components shortened, the last one first, until it is shorter or
// none is left. Of a backend and a service whose names are DNS labels it is a DNS label.
func CopyName(backend, service string) string {
	components := []string{backend, service}
	name := strings.Join(components, "-")
	for i := len(components) - 1; i >= 0 && len(name) >= maxNameLength; i-- {
		components[i] = shorten(components[i])
		name = strings.Join(components, "-")
	}
	return name
}

// SliceName returns the name of the copy of an EndpointSlice, by the name of the copy of its Service and by what distinguishes it from
// the other slices of that Service in the backend. It does not change with what is in the slice.
func SliceName(copyName, id string) string {
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

// Kind distinguishes copies of one kind from those of another with the same name.
type Kind string

// Kinds of copies.
const (
	KindService Kind = "Service"
	KindSlice   Kind = "EndpointSlice"
)

// Ref names a copy.
type Ref struct {
	Kind Kind
	types.NamespacedName
}

// RefOf names a Service or an EndpointSlice.
func RefOf(object metav1.Object) Ref {
	kind := KindService
	if _, ok := object.(*discoveryv1.EndpointSlice); ok {
		kind = KindSlice
	}
	return Ref{Kind: kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// String names a copy for a message.
func (r Ref) String() string { return fmt.Sprintf("%s %s", r.Kind, r.NamespacedName) }
