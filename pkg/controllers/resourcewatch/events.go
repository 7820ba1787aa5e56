// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Event is a change of an object: a creation if only New is set, a deletion if only Old is set, otherwise an update.
type Event struct {
	Resource schema.GroupResource
	Old, New *Object
	// Initial is true for an object of the initial list.
	Initial bool
}

// Object returns the current object, or the last state of a deleted one.
func (e *Event) Object() *Object {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

type handler struct {
	resources []schema.GroupResource
	handle    func(Event)
}

func (h *handler) wants(kind *Kind) bool { return slices.Contains(h.resources, kind.GroupResource) }

// Subscribe calls a function for each event of the resources, also if their watch starts later. Existing objects are reported first, as
// initial events. The function must not block.
func (s *Set) Subscribe(handle func(Event), resources ...schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := handler{resources: resources, handle: handle}
	s.handlers = append(s.handlers, added)
	for _, kind := range s.kinds {
		if state := s.states[kind.GroupResource]; state.watch != nil && added.wants(kind) {
			state.watch.notify(handle)
		}
	}
}

// Requests is the source of the requests that a function makes of each event of the resources. The function must not block.
func (s *Set) Requests(of func(context.Context, Event) []reconcile.Request, resources ...schema.GroupResource) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		s.Subscribe(func(e Event) {
			for _, request := range of(ctx, e) {
				queue.Add(request)
			}
		}, resources...)
		return nil
	})
}

func (w *watch) notify(handle func(Event)) {
	event := func(before, after any, initial bool) {
		e := Event{Resource: w.kind.GroupResource, Old: w.object(before), New: w.object(after), Initial: initial}
		if e.Old != nil || e.New != nil {
			handle(e)
		}
	}
	// This fails only if the informer was stopped, which sends no events.
	registration, err := w.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { event(nil, object, initial) },
		UpdateFunc: func(before, after any) {
			if !isSameVersion(before, after) {
				event(before, after, false)
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			event(object, nil, false)
		},
	})
	if err == nil {
		w.subscribers = append(w.subscribers, registration)
	}
}

func isSameVersion(before, after any) bool {
	old, isOld := before.(metav1.Object)
	now, isNow := after.(metav1.Object)
	return isOld && isNow && old.GetResourceVersion() == now.GetResourceVersion()
}
