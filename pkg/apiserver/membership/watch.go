// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Watch reports the changes of the Projects that the user may get, and which these are.
//
// A watch that begins with the state would compare all Projects. When a server starts, the watches of all members begin again:
// each gets the state from the index instead, and then the changes since.
func (s *Storage) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	mine, all, err := s.narrow(ctx, options)
	if err != nil {
		return nil, err
	}
	if all {
		return s.REST.Watch(ctx, options)
	}
	narrowed := with(options, mine)
	if !beginsWithState(narrowed) {
		return s.watchSince(ctx, narrowed, mine)
	}
	var projects *gardenerv1beta1.ProjectList
	if state := stateOf(options); s.server.cached && mine.isIndexed(state) {
		if projects, err = s.listByIndex(ctx, state, mine); err != nil {
			return nil, err
		}
	}
	if projects == nil {
		return s.REST.Watch(ctx, narrowed)
	}
	events, err := initialEvents(projects, narrowed)
	if err != nil {
		return nil, err
	}
	narrowed.ResourceVersion, narrowed.ResourceVersionMatch, narrowed.SendInitialEvents = projects.ResourceVersion, "", nil
	changes, err := s.REST.Watch(ctx, narrowed)
	if err != nil {
		return nil, err
	}
	return following(events, changes, nil), nil
}

// watchSince returns a watch of the changes since a version. Those of the time before the request have to pass the present members.
func (s *Storage) watchSince(ctx context.Context, options *internalversion.ListOptions, mine readable) (watch.Interface, error) {
	now, err := s.present(ctx, mine)
	if err != nil {
		return nil, err
	}
	changes, err := s.REST.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return following(nil, changes, now), nil
}

// beginsWithState reports whether a watch begins with an ADDED for each object: when the client requests it, and, since long before
// that was possible, when the client does not name a resource version to begin at.
func beginsWithState(options *internalversion.ListOptions) bool {
	if options.SendInitialEvents != nil {
		return *options.SendInitialEvents
	}
	return options.ResourceVersion == "" || options.ResourceVersion == anyVersion
}

// stateOf returns the options of a list with the state that a watch begins with.
func stateOf(options *internalversion.ListOptions) *internalversion.ListOptions {
	state := &internalversion.ListOptions{ResourceVersion: anyVersion}
	if options == nil {
		return state
	}
	state.LabelSelector, state.FieldSelector = options.LabelSelector, options.FieldSelector
	if options.SendInitialEvents == nil {
		return state
	}
	if state.ResourceVersion = options.ResourceVersion; state.ResourceVersion != "" {
		state.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return state
}

// initialEvents returns the events of a state, with the bookmark at their end that a client requests.
func initialEvents(projects *gardenerv1beta1.ProjectList, options *internalversion.ListOptions) ([]watch.Event, error) {
	events := make([]watch.Event, 0, len(projects.Items)+1)
	for i := range projects.Items {
		events = append(events, watch.Event{Type: watch.Added, Object: &projects.Items[i]})
	}
	if options.SendInitialEvents == nil || !options.AllowWatchBookmarks {
		return events, nil
	}
	end := &gardenerv1beta1.Project{}
	end.ResourceVersion = projects.ResourceVersion
	if err := storage.AnnotateInitialEventsEndBookmark(end); err != nil {
		return nil, err
	}
	return append(events, watch.Event{Type: watch.Bookmark, Object: end}), nil
}

// stateWatch is a watch that begins with other events, or with changes of the past.
type stateWatch struct {
	changes watch.Interface
	// past is set while the changes may be of the past.
	past    *present
	result  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

// following returns a watch that reports events before changes. If some of these may be of the past, it ends with an error at the first of
// those that the user may not receive.
func following(events []watch.Event, changes watch.Interface, past *present) watch.Interface {
	w := &stateWatch{changes: changes, past: past, result: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run(events)
	return w
}

// ResultChan implements watch.Interface.
func (w *stateWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *stateWatch) Stop() {
	w.stop.Do(func() {
		close(w.stopped)
		w.changes.Stop()
	})
}

// run reports events until the changes end or the watch is stopped.
func (w *stateWatch) run(events []watch.Event) {
	defer close(w.result)
	for _, event := range events {
		if !w.report(event) {
			return
		}
	}
	for event := range w.changes.ResultChan() {
		if w.past != nil {
			admitted, since := w.past.admits(event)
			if !admitted {
				w.report(watch.Event{Type: watch.Error, Object: new(errExpired().Status())})
				w.Stop()
				return
			}
			if since {
				w.past = nil
			}
		}
		if !w.report(event) {
			return
		}
	}
}

// report reports an event, and whether the watch continues.
func (w *stateWatch) report(event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-w.stopped:
		return false
	}
}
