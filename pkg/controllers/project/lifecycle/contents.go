// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// blockingKinds are the kinds whose objects keep a project namespace: behind each is something outside the cluster
// that has to be taken down in order. Shoots are Gardener's; they count where the cluster serves them.
func blockingKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		kubernikusv1.SchemeGroupVersion.WithKind("Kluster"),
		gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"),
		gardenerv1beta1.SchemeGroupVersion.WithKind("Shoot"),
	}
}

// servedFunc says whether the API server serves a kind. An error means that nobody can say.
type servedFunc func(ctx context.Context, kind schema.GroupVersionKind) (bool, error)

// servedBy asks the API server for the group version itself. A RESTMapper will not do: it takes a group whose server
// does not answer for one that does not exist, and here that would let a namespace go with all that is in it.
func servedBy(discoverer discovery.ServerResourcesInterfaceWithContext) servedFunc {
	return func(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
		resources, err := discoverer.ServerResourcesForGroupVersionWithContext(ctx, kind.GroupVersion().String())
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("discover %s: %w", kind.GroupVersion(), err)
		}
		return slices.ContainsFunc(resources.APIResources, func(resource metav1.APIResource) bool {
			return resource.Kind == kind.Kind
		}), nil
	}
}

// contents knows what keeps a namespace.
type contents struct {
	cache  client.Reader
	live   client.Reader
	served servedFunc

	mu      sync.RWMutex
	watched map[schema.GroupVersionKind]bool
}

func newContents(cache, live client.Reader, served servedFunc) *contents {
	return &contents{cache: cache, live: live, served: served, watched: map[schema.GroupVersionKind]bool{}}
}

// watch says that the cache has all objects of a kind and keeps up with them.
func (c *contents) watch(kind schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched[kind] = true
}

func (c *contents) watches(kind schema.GroupVersionKind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.watched[kind]
}

// cached lists what keeps a namespace from the cache, as "Kind name". It is good enough to tell people, and to wait
// by, and asks the API server nothing.
func (c *contents) cached(ctx context.Context, namespace string) ([]string, error) {
	var occupants []string
	for _, kind := range blockingKinds() {
		if !c.watches(kind) {
			continue
		}
		found, err := list(ctx, c.cache, kind, namespace, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		occupants = append(occupants, found...)
	}
	return occupants, nil
}

// current lists what keeps a namespace from the API server. It is what a deletion goes by. An error means that nobody
// knows, so that nothing may be deleted; a kind that was served before and is not any more is one.
func (c *contents) current(ctx context.Context, namespace string) ([]string, error) {
	var occupants []string
	for _, kind := range blockingKinds() {
		served, err := c.served(ctx, kind)
		if err != nil {
			return nil, err
		}
		if !served {
			if c.watches(kind) {
				return nil, fmt.Errorf("%s is not served any more: bring it back, or restart the controller manager when it was removed for good",
					kind.GroupVersion())
			}
			continue
		}
		found, err := list(ctx, c.live, kind, namespace)
		if err != nil {
			return nil, err
		}
		occupants = append(occupants, found...)
	}
	return occupants, nil
}

func list(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, namespace string, options ...client.ListOption) ([]string, error) {
	objects := &metav1.PartialObjectMetadataList{}
	objects.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := reader.List(ctx, objects, append(options, client.InNamespace(namespace))...); err != nil {
		return nil, fmt.Errorf("list %ss in namespace %q: %w", kind.Kind, namespace, err)
	}
	names := make([]string, 0, len(objects.Items))
	for i := range objects.Items {
		names = append(names, kind.Kind+" "+objects.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
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
