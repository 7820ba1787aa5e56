// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// syncTimeout is how long a request waits for the index of a server that has just started.
const syncTimeout = 10 * time.Second

// Index is what a plugin keeps of the objects of a kind, an entry of each. It needs no lock.
type Index[E any] interface {
	// Put makes this the entry of an object.
	Put(entry E)
	// Remove removes the object of an entry from the index, if it is known.
	Remove(entry E)
}

// Followed describes which objects are followed, and what is stored of them.
type Followed[O, E any, X Index[E]] struct {
	// Plugin names the reflector in logs.
	Plugin string
	// Knowledge is what a request cannot be judged without: "which Kluster has which addresses".
	Knowledge string
	// Source lists and watches the objects.
	Source func(versioned.Interface) *cache.ListWatch
	// EntryOf returns what is kept of an object.
	EntryOf func(*O) E
	// NewIndex returns an empty index with room for that many objects.
	NewIndex func(size int) X
}

// Follower lets an admission plugin know of all objects of a kind: a reflector keeps an index of them up to date, which follows the writes
// of all replicas a moment later. A plugin embeds one, and needs SetClient and SetDrainedNotification before
// ValidateInitialization.
type Follower[O, E any, X Index[E]] struct {
	client versioned.Interface
	// stop ends the reflector that fills the index.
	stop  <-chan struct{}
	store *store[O, E, X]
}

var (
	_ admission.InitializationValidator    = &Follower[any, any, Index[any]]{}
	_ initializer.WantsDrainedNotification = &Follower[any, any, Index[any]]{}
)

// NewFollower returns a Follower whose index is empty.
func NewFollower[O, E any, X Index[E]](followed Followed[O, E, X]) *Follower[O, E, X] {
	return &Follower[O, E, X]{store: newStore(followed)}
}

// SetClient gives the plugin a client of the server that it is part of.
func (f *Follower[O, E, X]) SetClient(client versioned.Interface) { f.client = client }

// SetDrainedNotification gives the plugin the channel that is closed when the server has served its last request.
func (f *Follower[O, E, X]) SetDrainedNotification(stop <-chan struct{}) { f.stop = stop }

// Client returns the client that the plugin was given.
func (f *Follower[O, E, X]) Client() versioned.Interface { return f.client }

// ValidateInitialization complains when something was not set, and begins to follow the objects.
func (f *Follower[O, E, X]) ValidateInitialization() error {
	if f.client == nil {
		return errors.New("no client was set")
	}
	if f.stop == nil {
		return errors.New("no stop channel was set")
	}
	source := cache.ToListWatcherWithWatchListSemantics(f.store.Source(f.client), f.client)
	reflector := cache.NewReflectorWithOptions(source, new(O), f.store, cache.ReflectorOptions{Name: f.store.Plugin})
	go reflector.RunWithContext(wait.ContextForChannel(f.stop))
	return nil
}

// Known waits until the index has the objects. If it does not have them before the deadline, the request is rejected, and the
// client may retry.
func (f *Follower[O, E, X]) Known(ctx context.Context) error {
	timeout := time.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case <-f.store.synced:
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("this server has just started and its index is not complete (%s): retry",
		f.store.Knowledge))
}

// Read calls a function with the index, which it must neither change nor keep.
func (f *Follower[O, E, X]) Read(look func(X)) {
	f.store.mu.RLock()
	defer f.store.mu.RUnlock()
	look(f.store.index)
}

// Client is what a generated client has for each kind.
type Client[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListWatch lists and watches what a client does.
func ListWatch[L runtime.Object](client Client[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// store is an index as a reflector fills it.
type store[O, E any, X Index[E]] struct {
	Followed[O, E, X]

	mu    sync.RWMutex
	index X
	// synced is closed when the index has been filled for the first time.
	synced chan struct{}
	once   sync.Once
}

var (
	_ cache.ReflectorStore    = &store[any, any, Index[any]]{}
	_ cache.TransformingStore = &store[any, any, Index[any]]{}
)

func newStore[O, E any, X Index[E]](followed Followed[O, E, X]) *store[O, E, X] {
	return &store[O, E, X]{Followed: followed, index: followed.NewIndex(0), synced: make(chan struct{})}
}

// Transformer makes a reflector keep no more of an object than the index does.
func (s *store[O, E, X]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.entry(obj) }
}

// entry takes an object, or what Transformer made of one.
func (s *store[O, E, X]) entry(obj any) (entry E, err error) {
	if kept, ok := obj.(E); ok {
		return kept, nil
	}
	if o, ok := obj.(*O); ok {
		return s.EntryOf(o), nil
	}
	return entry, fmt.Errorf("a %T is not a %s", obj, reflect.TypeFor[O]().Name())
}

// Add implements cache.ReflectorStore.
func (s *store[O, E, X]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store[O, E, X]) Update(obj any) error { return s.write(obj, X.Put) }

// Delete implements cache.ReflectorStore.
func (s *store[O, E, X]) Delete(obj any) error { return s.write(obj, X.Remove) }

func (s *store[O, E, X]) write(obj any, how func(X, E)) error {
	e, err := s.entry(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	how(s.index, e)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store[O, E, X]) Replace(objects []any, _ string) error {
	next := s.NewIndex(len(objects))
	for _, obj := range objects {
		e, err := s.entry(obj)
		if err != nil {
			return err
		}
		next.Put(e)
	}
	s.mu.Lock()
	s.index = next
	s.mu.Unlock()
	s.once.Do(func() { close(s.synced) })
	return nil
}

// Resync implements cache.ReflectorStore. It does nothing.
func (*store[O, E, X]) Resync() error { return nil }
