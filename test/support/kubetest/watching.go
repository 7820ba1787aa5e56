// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Watching returns the client with which a process fills its caches. While the server is frozen, lists are old and watches send
// nothing. After that, a watch that began before sends what it has missed, an event per second, and a later one has expired. A watch
// sends all that happened since the last list of the same objects.
func (s *Server) Watching() client.WithWatch {
	w := &watching{server: s, listed: map[string]*delayed{}}
	return &handle{interceptor.NewClient(s.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := w.begin(list, options); err != nil {
				return err
			}
			return s.cache(c, list).List(ctx, list, options...)
		},
		Watch: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			d := w.take(list, options)
			if d == nil {
				return nil, fmt.Errorf("a watch of %T before a list", list)
			}
			go d.run()
			return d, nil
		},
	})}
}

// watching has the watches that began with a list and are not read yet.
type watching struct {
	server *Server
	mu     sync.Mutex
	listed map[string]*delayed
}

func (w *watching) begin(list client.ObjectList, options []client.ListOption) error {
	inner, err := w.server.Watch(context.Background(), list, options...)
	if err != nil {
		return err
	}
	like := list.DeepCopyObject().(client.ObjectList)
	frozen, _ := w.server.isFrozen(like)
	selector := (&client.ListOptions{}).ApplyOptions(options).LabelSelector
	w.mu.Lock()
	defer w.mu.Unlock()
	key := watchKey(list, options)
	if before := w.listed[key]; before != nil {
		before.inner.Stop()
	}
	w.listed[key] = &delayed{server: w.server, like: like, selector: selector, old: frozen, inner: inner, out: make(chan watch.Event), done: make(chan struct{})}
	return nil
}

func (w *watching) take(list client.ObjectList, options []client.ListOption) *delayed {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := watchKey(list, options)
	d := w.listed[key]
	delete(w.listed, key)
	return d
}

func watchKey(list client.ObjectList, options []client.ListOption) string {
	return fmt.Sprintf("%T %s", list, (&client.ListOptions{}).ApplyOptions(options).Namespace)
}

// delayed is a watch that sends nothing while the server is frozen.
type delayed struct {
	server   *Server
	like     client.ObjectList
	selector labels.Selector
	// old reports that the list before it was.
	old   bool
	inner watch.Interface
	out   chan watch.Event
	done  chan struct{}
	once  sync.Once
}

// ResultChan implements watch.Interface.
func (d *delayed) ResultChan() <-chan watch.Event { return d.out }

// Stop implements watch.Interface.
func (d *delayed) Stop() { d.once.Do(func() { close(d.done) }) }

func (d *delayed) run() {
	defer close(d.out)
	defer d.inner.Stop()
	var missed []watch.Event
	for {
		frozen, changed := d.server.isFrozen(d.like)
		if !frozen && d.old {
			d.old = false
			missed = []watch.Event{{Type: watch.Error, Object: new(apierrors.NewResourceExpired("too old resource version").ErrStatus)}}
		}
		var out chan<- watch.Event
		var next watch.Event
		if !frozen && len(missed) > 0 {
			out, next = d.out, missed[0]
		}
		select {
		case <-d.done:
			return
		case <-changed:
		case event := <-d.inner.ResultChan():
			if event, ok := d.selected(event); ok {
				missed = append(missed, event)
			}
		case out <- next:
			missed = missed[1:]
			if next.Type == watch.Error || len(missed) > 0 && !d.pause() {
				return
			}
		}
	}
}

// pause lets the process react to one event before it gets the next one, and reports whether the watch continues.
func (d *delayed) pause() bool {
	select {
	case <-d.done:
		return false
	case <-time.After(time.Second):
		return true
	}
}

// selected returns an event as a watch with the selector gets it: an object that does not match any more has been deleted for it.
func (d *delayed) selected(event watch.Event) (selected watch.Event, ok bool) {
	object, isObject := event.Object.(client.Object)
	if !isObject || d.selector == nil || d.selector.Matches(labels.Set(object.GetLabels())) {
		return event, true
	}
	return watch.Event{Type: watch.Deleted, Object: event.Object}, event.Type == watch.Modified
}

// isFrozen reports whether the cache of the kind of a list is frozen, and returns what is closed when that may have changed.
func (s *Server) isFrozen(list client.ObjectList) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen != nil && !s.current[reflect.TypeOf(list)], s.refrozen
}
