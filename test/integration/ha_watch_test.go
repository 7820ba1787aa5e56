// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/generated/informers/externalversions"
)

// watches follow all objects of the four kinds, as controllers do.
type watches map[string]cache.SharedIndexInformer

// newWatches begins to watch; it ends with the test.
func newWatches(t *testing.T, config *rest.Config) watches {
	t.Helper()
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := externalversions.NewSharedInformerFactory(clients, 0)
	w := watches{
		"Project":          factory.Gardener().V1beta1().Projects().Informer(),
		"Kluster":          factory.Kubernikus().V1().Klusters().Informer(),
		"Translation":      factory.Midonet().V1().Translations().Informer(),
		"DiscoveryBackend": factory.Gimbal().V1().DiscoveryBackends().Informer(),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	factory.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	ready, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	for kind, synced := range factory.WaitForCacheSync(ready.Done()) {
		if !synced {
			t.Fatalf("%v: not listed", kind)
		}
	}
	return w
}

// sees returns an error unless a watcher has exactly the objects of a worker, with their last values. The worker must be stopped.
func (w watches) sees(h *worker) error {
	seen := map[string]int{}
	for _, item := range w[h.kind.kind].GetStore().List() {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		if object.GetNamespace() == h.namespace {
			seen[object.GetName()] = loadValue(object.GetAnnotations())
		}
	}
	if !maps.Equal(seen, h.existing) {
		return fmt.Errorf("objects of the watcher of %s = %v, want %v", h.resource, seen, h.existing)
	}
	return nil
}
