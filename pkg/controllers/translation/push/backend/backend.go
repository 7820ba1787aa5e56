// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "context"

// Backend is one backend network. Its methods are called from many goroutines. Errors of those with a context are *Error; a method
// that is not instructed to is not fenced and not retried by the engine within one call.
type Backend interface {
	// Resolve understands an item. It does no I/O. An error is for users: what is wrong with which field; one for which
	// errors.Is(err, ErrUnknownKind) holds reports that the backend has no place for the kind.
	Resolve(item Item) (Resource, error)
	// Locate understands where a resource is of which only kind, parent and id are known, as a status keeps them.
	Locate(kind, parent, id string) (Ref, error)
	// Create makes a resource. Position is its place among its ordered siblings, 1 is the head; 0 when it is not ordered. A
	// Conflict reports that the key or a slot is taken, or that a race was lost: only Get determines which.
	Create(ctx context.Context, r Resource, position int) error
	// Update replaces the body of a resource that is Updatable.
	Update(ctx context.Context, r Resource) error
	// Delete removes a resource; one that has been deleted is no error. The backend may remove what lies under it, too.
	Delete(ctx context.Context, ref Ref) error
	// Get reads a resource, and false when it does not exist. One that the driver does not understand is an ErrInvalid.
	Get(ctx context.Context, r Resource) (Observed, bool, error)
	// Collection reports which list has the resource, and false for a kind that is in none and has to be read by Get.
	Collection(r Resource) (Collection, bool)
	// List returns a complete collection, ordered resources in their order, or an error. It returns NotFound if the parent does not
	// exist. Elements that the driver cannot parse are returned as Invalid.
	List(ctx context.Context, c Collection) ([]Observed, error)
	// Roots are the collections of what stands alone and belongs to the tenant.
	Roots() []Collection
	// Children are the collections under a resource that a pusher may have filled.
	Children(ref Ref) []Collection
	// Differences are the names of the fields that the body of a wanted resource sets and the backend has otherwise.
	// Fields that the body does not set do not count, nor does the order among siblings. None: it is as wanted.
	Differences(want Resource, have Observed) []string
	// Copy returns the resource under another id, always the same one, for a replacement that is made before the break.
	// It is called for resources of kinds with Doubles only; the body may be {} when only the place is of interest.
	Copy(r Resource) Resource
}

// Watcher is a Backend that notices changes by other clients.
type Watcher interface {
	// Watch calls the function after a change of a resource by another client, and when such a change may have been missed,
	// until the context ends. The function does not block.
	Watch(ctx context.Context, changed func()) error
}
