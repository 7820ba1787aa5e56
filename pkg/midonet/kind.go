// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Verb is something the API does with a kind. Verbs are bits and can be joined.
type Verb uint8

// The verbs, each with its method and path.
const (
	Create Verb = 1 << iota // POST on the collection
	Get                     // GET on the item
	Update                  // PUT on the item, which replaces it
	Delete                  // DELETE on the item
	List                    // GET on the collection
)

// String returns the verb as errors name it.
func (v Verb) String() string {
	switch v {
	case Create:
		return "create"
	case Get:
		return "get"
	case Update:
		return "update"
	case Delete:
		return "delete"
	case List:
		return "list"
	default:
		return fmt.Sprintf("verb %d", uint8(v))
	}
}

// Kind is one row of the API: where resources of a kind are and what can be done with them.
type Kind struct {
	// Name is the kind as Translations spell it, for instance IPv4MACPair.
	Name string
	// Verbs are the verbs that the API has for the kind.
	Verbs Verb
	// MediaType is the Content-Type of a body, and what to Accept of an item.
	MediaType string
	// CollectionType is what to Accept of a list; empty for a kind without one.
	CollectionType string

	// collections are the paths of POST and of the list, by the kind of the parent ("" when there is none).
	collections []collection
	// item is the path of GET, PUT and DELETE. {parent} and {id} stand for the two ids.
	item string
	// tenants reports that the list can be narrowed to a tenant.
	tenants bool
	newBody func() Body
}

// collection is where the resources of a kind lie under one kind of parent.
type collection struct{ parentKind, path string }

// Has reports whether the API has the verb for the kind.
func (k Kind) Has(v Verb) bool { return k.Verbs&v == v }

// ParentKinds returns the kinds that a parent can be of; none when the kind stands alone.
func (k Kind) ParentKinds() []string {
	var kinds []string
	for _, c := range k.collections {
		if c.parentKind != "" {
			kinds = append(kinds, c.parentKind)
		}
	}
	return kinds
}

// KindNamed finds a kind by its name.
func KindNamed(name string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Kinds returns all kinds, a referent before those that refer to it.
func Kinds() []Kind { return slices.Clone(kinds) }

// collectionPath returns the path to POST to and to list, under a parent of the given kind.
func (k Kind) collectionPath(parentKind, parent string) (string, error) {
	for _, c := range k.collections {
		if c.parentKind == parentKind {
			if err := k.checkParent(parent); err != nil {
				return "", err
			}
			return expand(c.path, parent, ""), nil
		}
	}
	if parentKind == "" {
		return "", fmt.Errorf("%s needs a parent of kind %s", k.Name, strings.Join(k.ParentKinds(), " or "))
	}
	return "", fmt.Errorf("%s has no parent of kind %s", k.Name, parentKind)
}

func (k Kind) itemPath(parent, id string) (string, error) {
	if k.item == "" {
		return "", fmt.Errorf("%s has no items", k.Name)
	}
	if strings.Contains(k.item, "{parent}") {
		if err := k.checkParent(parent); err != nil {
			return "", err
		}
	}
	if strings.Contains(k.item, "{id}") {
		if err := checkSegment(id); err != nil {
			return "", fmt.Errorf("id of %s: %w", k.Name, err)
		}
	}
	return expand(k.item, parent, id), nil
}

// checkParent keeps a path from leaving its place.
func (k Kind) checkParent(parent string) error {
	if len(k.ParentKinds()) == 0 {
		if parent != "" {
			return fmt.Errorf("%s stands alone: parent %q must be empty", k.Name, parent)
		}
		return nil
	}
	return checkUUID("parent of "+k.Name, parent)
}

// checkSegment accepts what the last segment of a path consists of: UUIDs, MAC addresses with -, IPv4 addresses, and
// the underscore between them.
func checkSegment(id string) error {
	if id == "" {
		return fmt.Errorf("it is empty")
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("%q may have 0-9, a-z, -, _ and dots only", id)
		}
	}
	if strings.Trim(id, ".") == "" {
		return fmt.Errorf("%q is a way to another directory", id)
	}
	return nil
}

// expand puts the ids in their places. They are escaped, so that neither has a place in it.
func expand(path, parent, id string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, "{parent}", url.PathEscape(parent)), "{id}", url.PathEscape(id))
}
