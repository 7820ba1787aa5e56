// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// blockingKind is a kind whose objects block the deletion of a project namespace: they manage external resources that have to
// be deleted in order.
type blockingKind struct {
	kind     string
	resource schema.GroupResource
}

// blockingKinds returns these kinds. Shoots are Gardener's; they block where the cluster serves them.
func blockingKinds() []blockingKind {
	return []blockingKind{{"Kluster", usage.Klusters}, {"DiscoveryBackend", usage.DiscoveryBackends}, {"Shoot", usage.Shoots}}
}

func blockingResources() []schema.GroupResource {
	var resources []schema.GroupResource
	for _, kind := range blockingKinds() {
		resources = append(resources, kind.resource)
	}
	return resources
}

// follower follows the blocking kinds. It is implemented by *resourcewatch.Set.
type follower interface {
	Known(resource schema.GroupResource, namespace string) ([]*resourcewatch.Object, error)
	Live(patience time.Duration) resourcewatch.Reader
	Settled(ctx context.Context, resources ...schema.GroupResource) error
	Subscribe(handle func(resourcewatch.Event), resources ...schema.GroupResource)
}

// contents finds the objects that block the deletion of a namespace.
type contents struct{ follower }

// cached lists the blocking objects in a namespace from the watches, as "Kind name", without requests to the API server. It is
// sufficient for messages and for waiting.
func (c contents) cached(namespace string) ([]string, error) {
	return occupantsBy(func(resource schema.GroupResource) ([]*resourcewatch.Object, error) {
		return c.Known(resource, namespace)
	})
}

// current lists the blocking objects in a namespace from the API server, before a deletion. After an error they are unknown, so
// that nothing may be deleted; a kind that was served before and is not any more is an error.
func (c contents) current(ctx context.Context, namespace string) ([]string, error) {
	reader := c.Live(0)
	occupants, err := occupantsBy(func(resource schema.GroupResource) ([]*resourcewatch.Object, error) {
		return reader.Find(ctx, resource, resourcewatch.Query{Namespace: namespace})
	})
	if err != nil {
		return nil, fmt.Errorf("find the objects that block the deletion of namespace %q: %w", namespace, err)
	}
	return occupants, nil
}

// occupantsBy lists the objects that a function finds, by kind and name.
func occupantsBy(find func(schema.GroupResource) ([]*resourcewatch.Object, error)) (occupants []string, err error) {
	for _, kind := range blockingKinds() {
		found, err := find(kind.resource)
		if err != nil {
			return nil, err
		}
		before := len(occupants)
		for _, object := range found {
			occupants = append(occupants, kind.kind+" "+object.Name)
		}
		slices.Sort(occupants[before:])
	}
	return occupants, nil
}

// maxOccupants is the number of objects in a message. The message does not contain the number of further objects, because then
// each change of the number would be a write of the status.
const maxOccupants = 10

// occupiedMessage names the objects that block the deletion of a namespace, and the remedy.
func occupiedMessage(namespace string, occupants []string) string {
	return fmt.Sprintf("namespace %q still has %s: delete them to complete the deletion of the project", namespace, listed(occupants))
}

// listed returns names for a message.
func listed(names []string) string {
	if len(names) > maxOccupants {
		return strings.Join(names[:maxOccupants], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}
