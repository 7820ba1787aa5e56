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

	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
)

// blockingKind is a kind whose objects keep a project namespace: behind each is something outside the cluster that has
// to be taken down in order.
type blockingKind struct {
	kind     string
	resource schema.GroupResource
}

// blockingKinds are those kinds. Shoots are Gardener's; they count where the cluster serves them.
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

// follower follows the blocking kinds. A *kinds.Set does.
type follower interface {
	Known(resource schema.GroupResource, namespace string) ([]*kinds.Object, error)
	Live(patience time.Duration) kinds.Reader
	Settled(ctx context.Context, resources ...schema.GroupResource) error
	Tell(handle func(kinds.Event), resources ...schema.GroupResource)
}

// contents knows what keeps a namespace.
type contents struct{ follower }

// cached lists what keeps a namespace by what the watches know, as "Kind name". It is good enough to tell people, and to
// wait by, and asks the API server nothing.
func (c contents) cached(namespace string) ([]string, error) {
	var occupants []string
	for _, kind := range blockingKinds() {
		found, err := c.Known(kind.resource, namespace)
		if err != nil {
			return nil, err
		}
		occupants = append(occupants, names(kind.kind, found)...)
	}
	return occupants, nil
}

// current lists what keeps a namespace from the API server. It is what a deletion goes by. An error means that nobody
// knows, so that nothing may be deleted; a kind that was served before and is not any more is one.
func (c contents) current(ctx context.Context, namespace string) ([]string, error) {
	var occupants []string
	reader := c.Live(0)
	for _, kind := range blockingKinds() {
		found, err := reader.Find(ctx, kind.resource, kinds.Query{Namespace: namespace})
		if err != nil {
			return nil, fmt.Errorf("find what keeps namespace %q: %w", namespace, err)
		}
		occupants = append(occupants, names(kind.kind, found)...)
	}
	return occupants, nil
}

func names(kind string, objects []*kinds.Object) []string {
	found := make([]string, 0, len(objects))
	for _, object := range objects {
		found = append(found, kind+" "+object.Name)
	}
	slices.Sort(found)
	return found
}

// maxOccupants is how many objects a message names. How many more there are it does not say: with the number in it,
// each one that comes or goes would be a write of the status.
const maxOccupants = 10

// occupiedMessage says what keeps a namespace, and what to do.
func occupiedMessage(namespace string, occupants []string) string {
	more := ""
	if len(occupants) > maxOccupants {
		occupants, more = occupants[:maxOccupants], " and more"
	}
	return fmt.Sprintf("namespace %q still has %s%s: delete them to let the project go", namespace, strings.Join(occupants, ", "), more)
}
