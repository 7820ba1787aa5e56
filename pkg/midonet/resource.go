// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Body is the typed body of a kind: a pointer to one of TunnelZone, Port, Rule and so on.
type Body interface {
	// Key distinguishes the resource from the others of its kind and parent: the last segment of its path. It is empty for a kind
	// whose path ends with the kind.
	Key() string
	// check wants what the key is made of. The rest is for the server to judge.
	check() error
}

// Ref names one resource. It is what a Translation's status keeps.
type Ref struct {
	// Kind is the name of the kind.
	Kind string
	// Parent is the UUID of the resource that this one lies under; empty for a kind that stands alone.
	Parent string
	// ID is the Key of the body.
	ID string
}

// String returns the resource as messages name it.
func (r Ref) String() string {
	switch {
	case r.ID == "" && r.Parent == "":
		return r.Kind
	case r.ID == "":
		return r.Kind + " of " + r.Parent
	default:
		return r.Kind + " " + r.ID
	}
}

// Identity returns what the server knows the resource by: the Ref without its parent, where the path of an item has
// none. Two Refs with one Identity are one resource, that has moved from one parent to another.
func (r Ref) Identity() Ref {
	if k, ok := KindNamed(r.Kind); ok && !strings.Contains(k.item, "{parent}") {
		r.Parent = ""
	}
	return r
}

// Check returns what is wrong with a Ref that comes from outside; nil if such a resource can exist.
func (r Ref) Check() error {
	k, ok := KindNamed(r.Kind)
	if !ok {
		return fmt.Errorf("kind %q is not one of MidoNet's", r.Kind)
	}
	if err := k.checkParent(r.Parent); err != nil {
		return err
	}
	_, err := k.itemPath(r.Parent, r.ID)
	return err
}

// Resource is one resource with its body.
type Resource struct {
	Ref
	// Body is the JSON that is sent over the wire, or came over it.
	Body json.RawMessage
	// Invalid is why an element of a list is not understood, and nil for all others. Its ID is what can be read of it,
	// which may be nothing.
	Invalid error
}

// NewResource makes a resource of an entry of a Translation. The error names the field that is wrong; an unknown kind is an error,
// a field that is not modelled here is not.
func NewResource(kind, parent, body string) (Resource, error) {
	r, _, err := ParseResource(kind, parent, body)
	return r, err
}

// ParseResource is NewResource, and the typed body with it.
func ParseResource(kind, parent, body string) (Resource, Body, error) {
	k, ok := KindNamed(kind)
	if !ok {
		return Resource{}, nil, fmt.Errorf("kind %q is not one of MidoNet's", kind)
	}
	raw := json.RawMessage(body)
	b, err := k.Decode(raw)
	if err != nil {
		return Resource{}, nil, err
	}
	if _, err := k.createPath(b, parent); err != nil {
		return Resource{}, nil, err
	}
	return Resource{Ref: Ref{Kind: kind, Parent: parent, ID: b.Key()}, Body: raw}, b, nil
}

// Decode reads a body. Names of fields count with their case, as on the server; unknown ones are left out.
func (k Kind) Decode(data []byte) (Body, error) {
	b, err := k.read(data)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// read reads as much of a body as can be: a field of another type than in the model keeps none of the others from being read.
func (k Kind) read(data []byte) (Body, error) {
	b := k.newBody()
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, b)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return b, fmt.Errorf("body of %s: %w", k.Name, err)
	}
	return b, nil
}

// element reads an element of a list under a parent.
func (k Kind) element(parent string, data json.RawMessage) Resource {
	b, err := k.read(data)
	r := Resource{Ref: Ref{Kind: k.Name, Parent: parent, ID: b.Key()}, Body: data, Invalid: err}
	if err != nil {
		// As Groundskeeper would write it: an id in capitals is still that id, and one that has no place in a path is none.
		if r.ID = strings.ToLower(r.ID); checkSegment(r.ID) != nil {
			r.ID = ""
		}
	}
	return r
}

// createPath returns where a resource with this body is made. A kind that cannot be created has its collection, too.
func (k Kind) createPath(b Body, parent string) (string, error) {
	parentKind := k.collections[0].parentKind
	if p, ok := b.(interface{ parentKind() string }); ok {
		if parentKind = p.parentKind(); parentKind == "" {
			return "", fmt.Errorf("body of %s: type: is missing; it is the kind of the parent", k.Name)
		}
	}
	return k.collectionPath(parentKind, parent)
}
