// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Source is where objects come from: as metadata, or, for kinds with a Value, whole.
type Source struct {
	Metadata metadata.Interface
	Dynamic  dynamic.Interface
	// Cached are resources that a cache of this process has even so.
	Cached []*Cached
}

// lister lists and watches the objects of a resource in all namespaces or in one.
type lister interface {
	list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error)
	watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error)
}

func (s Source) lister(kind *Kind, resource schema.GroupVersionResource) (lister, any) {
	if kind.Value == nil {
		return metadataLister{s.Metadata.Resource(resource)}, s.Metadata
	}
	return wholeLister{s.Dynamic.Resource(resource)}, s.Dynamic
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

// watch follows the objects of one kind in one version, by a dedicated informer or one of a cache.
type watch struct {
	kind     *Kind
	resource schema.GroupVersionResource
	requests *requests
	informer cache.SharedIndexInformer

	// subscribers are who is notified of events. The lock of the Set guards it.
	subscribers []cache.ResourceEventHandlerRegistration

	// cached is where the informer is from, nil when it is the watch's own. Then the others end it.
	cached *Cached
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

func newWatch(kind *Kind, resource schema.GroupVersionResource, source Source) *watch {
	if cached, informer := source.cached(kind); informer != nil {
		return &watch{kind: kind, resource: resource, requests: &cached.requests, informer: informer, cached: cached}
	}
	w := &watch{kind: kind, resource: resource, requests: &requests{resource: kind.GroupResource}}
	objects, origin := source.lister(kind, resource)
	example := runtime.Object(&metav1.PartialObjectMetadata{})
	if kind.Value != nil {
		example = &unstructured.Unstructured{}
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	for name, values := range kind.Indexes {
		indexers[name] = func(object any) ([]string, error) {
			kept, ok := object.(*Object)
			if !ok {
				return nil, fmt.Errorf("%T is not what is kept of an object", object)
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

// start follows the objects until the context ends or stop is called. A failure is notified.
func (w *watch) start(ctx context.Context, failed func()) {
	if w.cached != nil {
		w.requests.notify(failed)
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	// Neither can fail before the informer runs.
	_ = w.informer.SetTransform(w.transform)
	_ = w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, _ error) { failed() })
	w.ended.Go(func() { w.informer.RunWithContext(ctx) })
}

// stop ends the watch, but not an informer of a cache; wait waits for that.
func (w *watch) stop() {
	if w.cached == nil {
		w.cancel()
		return
	}
	w.requests.notify(nil)
	for _, registration := range w.subscribers {
		_ = w.informer.RemoveEventHandler(registration) // it knows what it gave
	}
}

func (w *watch) wait() { w.ended.Wait() }

// transform makes of an object what is kept of it. It may see one that was transformed before.
func (w *watch) transform(object any) (any, error) {
	switch object := object.(type) {
	case *metav1.PartialObjectMetadata:
		return w.kind.object(object, nil), nil
	case *unstructured.Unstructured:
		return w.kind.object(object, object.Object), nil
	}
	return object, nil
}

// object is what is kept of an object of the informer, nil when that is something else.
func (w *watch) object(from any) *Object {
	if w.cached == nil {
		kept, _ := from.(*Object)
		return kept
	}
	if metadata := w.cached.metadata(from); metadata != nil {
		return w.kind.object(metadata, nil)
	}
	return nil
}

// problem is why it is not known what objects there are.
func (w *watch) problem() error {
	if err := w.requests.problem(); err != nil {
		return err
	}
	if !w.informer.HasSynced() {
		return fmt.Errorf("not all %s are known yet", w.resource.GroupResource())
	}
	return nil
}

// Connect returns a Finder and a Source that speak with the API server of a manager.
func Connect(mgr manager.Manager) (Finder, Source, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for discovery: %w", err)
	}
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for metadata: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, Source{}, fmt.Errorf("create a client for any kind: %w", err)
	}
	return NewFinder(discoverer), Source{Metadata: metadataClient, Dynamic: dynamicClient}, nil
}

// Idle reports about each kind whose objects are not followed why they are not, for users.
func (s *Set) Idle() []string {
	var idle []string
	for _, kind := range s.kinds {
		if err := s.problem(kind.GroupResource); err != nil {
			idle = append(idle, kind.String()+": "+err.Error())
			continue
		}
		if _, watch := s.watchOf(kind.GroupResource); watch == nil {
			idle = append(idle, kind.String()+" is not served, or of no use here")
		}
	}
	return idle
}
