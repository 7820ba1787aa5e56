// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Source has the clients that list and watch: metadata, or complete objects for kinds with Value or Typed.
type Source struct {
	Metadata metadata.Interface
	Dynamic  dynamic.Interface
	// Typed returns a client for kinds with Typed, whose scheme has the type of the example. If it is nil, Dynamic is used for them.
	Typed func(example runtime.Object) (rest.Interface, error)
	// Cached are resources that another cache of this process contains.
	Cached []*Cached
}

// lister lists and watches the objects of a resource in all namespaces or in one.
type lister interface {
	list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error)
	watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error)
}

// lister returns what lists and watches a kind, the client it belongs to, and an empty object of the type that it returns.
func (s Source) lister(kind *Kind, resource schema.GroupVersionResource) (from lister, client any, example runtime.Object) {
	switch {
	case !kind.isWhole():
		return metadataLister{s.Metadata.Resource(resource)}, s.Metadata, &metav1.PartialObjectMetadata{}
	case kind.Typed == nil || s.Typed == nil:
		return wholeLister{s.Dynamic.Resource(resource)}, s.Dynamic, &unstructured.Unstructured{}
	}
	example = kind.Typed.example
	typed := typedLister{client: func() (rest.Interface, error) { return s.Typed(example) }, resource: resource.Resource}
	return typed, typed, example
}

type metadataLister struct{ metadata.Getter }

func (l metadataLister) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	return l.Namespace(namespace).List(ctx, options)
}

func (l metadataLister) watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	return l.Watch(ctx, options)
}

type wholeLister struct {
	dynamic.NamespaceableResourceInterface
}

func (l wholeLister) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	return l.Namespace(namespace).List(ctx, options)
}

func (l wholeLister) watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	return l.Watch(ctx, options)
}

// watch watches one kind in one version, with a dedicated informer or that of a cache.
type watch struct {
	kind     *Kind
	resource schema.GroupVersionResource
	requests *requests
	informer cache.SharedIndexInformer

	// subscribers are the event handlers. The lock of the Set protects it.
	subscribers []cache.ResourceEventHandlerRegistration

	// cached owns the informer. If it is nil, the watch owns it, and cancel and ended stop it.
	cached *Cached
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func newWatch(kind *Kind, resource schema.GroupVersionResource, source Source) *watch {
	if cached, informer := source.cached(kind); informer != nil {
		return &watch{kind: kind, resource: resource, requests: &cached.requests, informer: informer, cached: cached}
	}
	w := &watch{kind: kind, resource: resource, requests: &requests{resource: kind.GroupResource}}
	objects, origin, example := source.lister(kind, resource)
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	for name, values := range kind.Indexes {
		indexers[name] = func(object any) ([]string, error) {
			kept, ok := object.(*Object)
			if !ok {
				return nil, fmt.Errorf("%T is not a cached object", object)
			}
			return values(kept), nil
		}
	}
	all := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.list(ctx, metav1.NamespaceAll, options)
		},
		WatchFuncWithContext: objects.watch,
	}
	w.informer = cache.NewSharedIndexInformerWithOptions(cache.ToListWatcherWithWatchListSemantics(w.requests.noted(all), origin), example,
		cache.SharedIndexInformerOptions{Indexers: indexers, ObjectDescription: resource.String()})
	return w
}

// start watches until the context is done or stop is called. It calls failed after each failure.
func (w *watch) start(ctx context.Context, failed func()) {
	if w.cached != nil {
		w.requests.notify(failed)
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	// Both fail only if the informer was started.
	_ = w.informer.SetTransform(w.transform)
	_ = w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, _ error) { failed() })
	w.ended.Go(func() { w.informer.RunWithContext(ctx) })
}

// stop stops the watch, but not the informer of a cache; wait waits until it has stopped.
func (w *watch) stop() {
	if w.cached == nil {
		w.cancel()
		return
	}
	w.requests.notify(nil)
	for _, registration := range w.subscribers {
		_ = w.informer.RemoveEventHandler(registration) // fails only for a foreign registration
	}
}

func (w *watch) wait() { w.ended.Wait() }

// transform returns the cached form of an object. It may be called with an object that was already transformed.
func (w *watch) transform(object any) (any, error) {
	switch object := object.(type) {
	case *Object:
		return object, nil
	case metav1.Object:
		return w.kind.object(object), nil
	}
	return object, nil
}

// object returns the cached form of an object of the informer, or nil for other types.
func (w *watch) object(from any) *Object {
	if w.cached == nil {
		kept, _ := from.(*Object)
		return kept
	}
	if metadata := w.cached.metadata(from); metadata != nil {
		return w.kind.object(metadata)
	}
	return nil
}

// problem returns the reason why the existing objects are unknown, or nil.
func (w *watch) problem() error {
	if err := w.requests.problem(); err != nil {
		return err
	}
	if !w.informer.HasSynced() {
		return fmt.Errorf("not all %s are known yet", w.resource.GroupResource())
	}
	return nil
}

// AddTo adds a Set of kinds to a manager, for one of its controllers.
func AddTo(mgr manager.Manager, controller string, clock clock.PassiveClock, kinds ...Kind) (*Set, error) {
	find, from, err := Connect(mgr)
	if err != nil {
		return nil, err
	}
	set := NewSet(find, from, clock, DiscoveryPeriod, kinds...)
	if err := mgr.Add(set); err != nil {
		return nil, fmt.Errorf("add the watches of controller %s: %w", controller, err)
	}
	return set, nil
}

// Connect returns a Finder and a Source for the API server of a manager.
func Connect(mgr manager.Manager) (Finder, Source, error) {
	find, from, err := ConnectTo(mgr.GetConfig(), mgr.GetHTTPClient())
	if err == nil {
		from.Typed = typedClients(mgr)
	}
	return find, from, err
}

// ConnectTo is Connect for an API server without a manager, and without clients for types.
func ConnectTo(config *rest.Config, client *http.Client) (Finder, Source, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for discovery: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for metadata: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for any kind: %w", err)
	}
	return NewFinder(discoverer), Source{Metadata: metadataClient, Dynamic: dynamicClient}, nil
}

// Idle lists the kinds that are not watched, each with its reason in words for users.
func (s *Set) Idle() []string {
	var idle []string
	for _, kind := range s.kinds {
		if err := s.problem(kind.GroupResource); err != nil {
			idle = append(idle, kind.String()+": "+err.Error())
			continue
		}
		if _, watch := s.watchOf(kind.GroupResource); watch == nil {
			idle = append(idle, kind.String()+s.reasonNotWatched(kind))
		}
	}
	return idle
}

func (s *Set) reasonNotWatched(kind *Kind) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.isNeeded(kind) {
		return " is not served"
	}
	var needed []string
	for _, other := range kind.While {
		needed = append(needed, other.String())
	}
	return " is not watched, because the cluster does not serve " + strings.Join(needed, " or ")
}
