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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// Source is where objects come from: as metadata, or, for kinds with a Value, whole.
type Source struct {
	Metadata metadata.Interface
	Dynamic  dynamic.Interface
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

// watch follows the objects of one kind in one version.
type watch struct {
	kind     *Kind
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	ended    sync.WaitGroup

	mu  sync.Mutex
	err error // of the last list or watch
}

func newWatch(kind *Kind, resource schema.GroupVersionResource, source Source) *watch {
	w := &watch{kind: kind, resource: resource}
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
	w.informer = cache.NewSharedIndexInformerWithOptions(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.list(ctx, metav1.NamespaceAll, options)
			return list, w.note(ctx, "list", err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := objects.watch(ctx, options)
			return events, w.note(ctx, "watch", err)
		},
	}, origin), example, cache.SharedIndexInformerOptions{Indexers: indexers, ObjectDescription: resource.String()})
	return w
}

// note remembers how the last list or watch went. A request that was cut off because the watch ends says nothing.
func (w *watch) note(ctx context.Context, verb string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = nil
	if err != nil {
		w.err = fmt.Errorf("%s %s: %w", verb, w.resource.GroupResource(), err)
	}
	return err
}

// start follows the objects until the context ends or stop is called. A failure is told.
func (w *watch) start(ctx context.Context, failed func()) {
	ctx, w.cancel = context.WithCancel(ctx)
	// Neither can fail before the informer runs.
	_ = w.informer.SetTransform(w.transform)
	_ = w.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, _ error) { failed() })
	w.ended.Go(func() { w.informer.RunWithContext(ctx) })
}

// stop ends the watch; wait waits for that.
func (w *watch) stop() { w.cancel() }

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

// problem is why it is not known what objects there are.
func (w *watch) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if !w.informer.HasSynced() {
		return fmt.Errorf("not all %s are known yet", w.resource.GroupResource())
	}
	return nil
}
