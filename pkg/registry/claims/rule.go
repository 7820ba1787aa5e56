// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package claims keeps names unique: an object takes its name in the very etcd transaction that
// writes the object, and gives it back in the one that deletes it.
//
// A claim is an etcd key, <prefix>/claims/<group>/<resource>/<name><separator>, whose value is the etcd key of the object that
// holds the name. It lies outside the prefix of every resource, so that no list and no watch ever sees it. Because object and claim
// change together, there is nothing to lease, to sweep or to repair after a crash: at every revision of etcd either both exist or
// neither. Only a hand in etcd, or the unsafe deletion of a corrupt object, leaves a claim behind; the next object that wants the
// name notices that the holder has been deleted and removes it.
//
// Encryption at rest covers values: the name that is claimed stands in plain text in a key, as the
// name of every object does.
package claims

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxAncestors bounds the levels of a name: etcd runs at most 128 operations in a transaction, and
// one is compared per level above the name, one for the name, one for the object, one is nested.
const maxAncestors = 125

// Rule reports which name an object takes.
//
// A name is free when neither it, nor a name above it, nor a name below it is taken. Levels are
// divided by Separator: with "-", "us" is above "us-east", but not above "usa". A rule whose names
// never contain Separator makes them simply unique.
type Rule struct {
	// Separator divides the levels of a name. It ends every claim key, so that one range of keys
	// covers a name and all names below it. It must not be empty.
	Separator string

	// Name returns the name an object takes, or "" when it takes none. It is also called with the
	// zero object. An update may change the name, but not to one above or below the old one.
	Name func(runtime.Object) string

	// Rejection returns the error for an object that wants a name while the name held, equal to it,
	// above it or below it, belongs to another object.
	Rejection func(obj runtime.Object, held string) error
}

// ancestors returns the names above a name, the highest first, or the rejection of a name with too many levels.
func (r Rule) ancestors(name string) ([]string, error) {
	var names []string
	for i := range len(name) {
		if strings.HasPrefix(name[i:], r.Separator) {
			names = append(names, name[:i])
		}
	}
	if len(names) > maxAncestors {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("name %q contains %q %d times, at most %d are allowed",
			name, r.Separator, len(names), maxAncestors))
	}
	return names, nil
}
