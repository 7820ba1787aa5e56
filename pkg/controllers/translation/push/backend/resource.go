// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
)

// Item is a desired resource: the three strings of a Translation.
type Item struct {
	Kind, Parent, Body string
}

// Key identifies a resource in a backend, and can be a map key.
type Key struct {
	// Kind is the kind of the resource.
	Kind string
	// Scope is the id of the parent for kinds whose ids are unique within a parent only, else empty.
	Scope string
	// ID is unique within the kind and the scope. It is empty for a kind of which a parent has one resource.
	ID string
}

// String returns the name of the resource in messages.
func (k Key) String() string {
	switch {
	case k.ID == "" && k.Scope == "":
		return k.Kind
	case k.ID == "":
		return k.Kind + " of " + k.Scope
	default:
		return k.Kind + " " + k.ID
	}
}

// Ref is the location of a resource: everything that is needed to delete it.
type Ref struct {
	Key
	// Parent is the id of the parent; empty for a kind without one.
	Parent string
	// Claim is the Claim that lists the resource, or has to delete it. The engine sets it for writes and Differences; it is zero
	// if there is none.
	Claim types.NamespacedName
}

// Resource is a desired resource, parsed by the driver.
type Resource struct {
	Ref
	// Body is the resource as sent: a JSON object.
	Body json.RawMessage
	// Aliases are further keys that other resources may need and that this one satisfies, for instance "a place of this host in any
	// tunnel zone". Several resources may have the same alias.
	Aliases []Key
	// Needs are the keys, or aliases, of resources that must exist in the backend before this one, and that are deleted after it. Resources
	// that Translations do not create, such as hosts, are not listed.
	Needs []Key
	// Slots name, in addition to the key, what only one resource can occupy at a time: the binding of a port, the end of a link.
	Slots []string
	// Ordered reports whether the position among the resources of the kind under the same parent matters. Each is created at the
	// head, so those of one Translation are in the reverse order of its list.
	Ordered bool
	// Updatable reports whether the backend can replace the body in place. Otherwise the resource is deleted and created again.
	Updatable bool
	// Doubles reports whether a copy with another id is harmless, so that a replacement can be created before the old resource is
	// deleted.
	Doubles bool
}

// Observed is a resource as read from the backend.
type Observed struct {
	Ref
	// Body is the content that the backend returned: a JSON object.
	Body json.RawMessage
	// Foreign reports whether no pusher creates such a resource, because the server or an agent does. It is never an orphan.
	Foreign bool
	// Invalid is the reason why the driver cannot parse the resource; nil if it can. Then the key is as complete as possible, the
	// resource is Foreign, and nothing is known of it except that it exists.
	Invalid error
}

// Collection identifies a list: all resources of a kind under one parent, or, without a parent, all of the tenant.
type Collection struct {
	Kind string
	// ParentKind and Parent are empty for kinds without a parent.
	ParentKind, Parent string
}
