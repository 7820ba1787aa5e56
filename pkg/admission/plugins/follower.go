// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
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

// Client is the client that the plugin was given.
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
	return apierrors.NewServiceUnavailable(fmt.Sprintf("this server has just started and its index is not complete (%s): retry", f.store.Knowledge))
}

// Read calls a function with the index, which it must neither change nor keep.
func (f *Follower[O, E, X]) Read(look func(X)) {
	f.store.mu.RLock()
	defer f.store.mu.RUnlock()
	look(f.store.index)
}
