// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// Backend is the part of a backend network that a push engine manages. Methods are called from many goroutines. Those with a
// context return a *backend.Error. A driver checks the fence before each write, and the engine does not retry within one call.
type Backend interface {
	// Resolve parses an item, without I/O. The error names the field and the mistake for users; errors.Is(err, backend.ErrUnknownKind)
	// means that the backend has no such kind.
	Resolve(item backend.Item) (backend.Resource, error)
	// Locate returns the location of a resource from its kind, parent and id, as stored in a status.
	Locate(kind, parent, id string) (backend.Ref, error)
	// Create creates a resource. Position is its position among its ordered siblings, 1 is the head; 0 if it is not ordered. A
	// Conflict means that the key or a slot is occupied, or that a race was lost: only Get determines which.
	Create(ctx context.Context, r backend.Resource, position int) error
	// Update replaces the body of a resource that is Updatable.
	Update(ctx context.Context, r backend.Resource) error
	// Delete deletes a resource; it succeeds if the resource does not exist. The backend may delete child resources, too.
	Delete(ctx context.Context, ref backend.Ref) error
	// Get reads a resource; it returns false if the resource does not exist, and backend.ErrInvalid if the driver cannot parse it.
	Get(ctx context.Context, r backend.Resource) (backend.Observed, bool, error)
	// Collection returns the list that contains the resource, and false if no list does and it must be read by Get.
	Collection(r backend.Resource) (backend.Collection, bool)
	// List returns a complete collection, ordered resources in their order, or an error. It returns NotFound if the parent does not
	// exist. Elements that the driver cannot parse are returned as Invalid.
	List(ctx context.Context, c backend.Collection) ([]backend.Observed, error)
	// Roots returns the collections of resources without a parent that belong to the tenant.
	Roots() []backend.Collection
	// Children returns the collections under a resource that a pusher may have filled.
	Children(ref backend.Ref) []backend.Collection
	// Differences returns the names of the fields that the body of a desired resource sets and that differ in the backend. Fields
	// that the body does not set and the order among siblings are not compared.
	Differences(want backend.Resource, have backend.Observed) []string
	// Copy returns the resource with another id, always the same one, for a replacement without interruption. It is called for
	// kinds with Doubles only; the body may be {} if only the location is needed.
	Copy(r backend.Resource) backend.Resource
}
