// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"fmt"

	kjson "sigs.k8s.io/json"
)

// Body is the typed body of a kind: a pointer to one of TunnelZone, Port, Rule and so on.
type Body interface {
	// Key tells the resource from the others of its kind and parent: the last segment of its path. It is empty for
	// a kind whose path ends with the kind.
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

// String is the resource as messages name it.
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

// Resource is one resource with its body.
type Resource struct {
	Ref
	// Body is the JSON that goes over the wire, or came over it.
	Body json.RawMessage
}

// NewResource makes a resource of what a Translation says. The error names the field that is wrong; an unknown kind is
// an error, a field that is not modelled here is not.
func NewResource(kind, parent, body string) (Resource, error) {
	k, ok := KindNamed(kind)
	if !ok {
		return Resource{}, fmt.Errorf("kind %q is not one of MidoNet's", kind)
	}
	b, err := k.Decode([]byte(body))
	if err != nil {
		return Resource{}, err
	}
	r := Resource{Ref: Ref{Kind: kind, Parent: parent, ID: b.Key()}, Body: json.RawMessage(body)}
	if _, err := k.createPath(b, parent); err != nil {
		return Resource{}, err
	}
	return r, nil
}

// Decode reads a body. Names of fields count with their case, as on the server; unknown ones are left out.
func (k Kind) Decode(data []byte) (Body, error) {
	b := k.newBody()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, b); err != nil {
		return nil, fmt.Errorf("body of %s: %w", k.Name, err)
	}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("body of %s: %w", k.Name, err)
	}
	return b, nil
}

// createPath is where a resource with this body is made. A kind that nobody can make has its collection, too.
func (k Kind) createPath(b Body, parent string) (string, error) {
	parentKind := k.collections[0].parentKind
	if p, ok := b.(interface{ parentKind() string }); ok {
		if parentKind = p.parentKind(); parentKind == "" {
			return "", fmt.Errorf("body of %s: type: is missing; it is the kind of the parent", k.Name)
		}
	}
	return k.collectionPath(parentKind, parent)
}
