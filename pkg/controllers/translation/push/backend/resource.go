// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "encoding/json"

// Item is a resource as desired: the three strings of a Translation.
type Item struct {
	Kind, Parent, Body string
}

// Key is what a backend knows a resource by. Two items with one key are the same resource. It is a map key.
type Key struct {
	// Kind is the kind of the resource.
	Kind string
	// Scope is the id of the parent for kinds whose ids are unique within a parent only, else empty.
	Scope string
	// ID is unique for the kind and the scope. It is empty for a kind of which a parent has one.
	ID string
}

// String is the resource as messages name it.
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

// Ref is where a resource is: what must be known to delete it.
type Ref struct {
	Key
	// Parent is the id of the resource that it lies under; empty for a kind that stands alone.
	Parent string
}

// Resource is a wanted resource, understood by the driver.
type Resource struct {
	Ref
	// Body is the resource as sent: a JSON object.
	Body json.RawMessage
	// Aliases are further keys that others may need and that this resource satisfies, for instance "some place of that
	// machine in a zone". Several resources may have one alias.
	Aliases []Key
	// Needs are the keys, or aliases, of resources that must exist in the backend before this one, and that are deleted after it. Resources
	// that Translations do not create, such as hosts, are not listed.
	Needs []Key
	// Slots name what only one resource can have at a time, beside the key: the binding of a port, the end of a link.
	Slots []string
	// Ordered reports that the place among the resources of the kind under the same parent matters. Each is made at the head, so
	// those that one Translation lists stand in the reverse order of its list.
	Ordered bool
	// Updatable reports that the backend can replace the body in place. Otherwise it is deleted and created again.
	Updatable bool
	// Doubles reports that a copy under another id does no harm, so that a replacement can be made before the break.
	Doubles bool
}

// Observed is a resource as the backend has it.
type Observed struct {
	Ref
	// Body is what the backend reports the resource: a JSON object.
	Body json.RawMessage
	// Foreign reports that the resource is not one of those a pusher makes (the server made it, an agent learned it): one that no
	// client wants is no orphan.
	Foreign bool
	// Invalid is why the driver does not understand the resource, and nil when it does. Its key is what can be read of it.
	// It is Foreign, and nothing is known of a wanted resource of its key but that it is there.
	Invalid error
}

// Collection names a list that the backend can give: all resources of a kind under one parent, or, without a parent,
// all of the tenant.
type Collection struct {
	Kind string
	// ParentKind and Parent are empty for what stands alone.
	ParentKind, Parent string
}
