// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

const (
	// batch is how long changes are collected before they are sent.
	batch = 200 * time.Millisecond
	// keepAlive is the pause between two events without changes, by which the page knows that the console runs.
	keepAlive = 10 * time.Second
	// maxTouched is how many changed objects an event names at most.
	maxTouched = 500
)

// subscription is what a page does not know yet. It contains keys and no data, so that a slow page costs little memory, and gets
// only the last state.
type subscription struct {
	// all is true if the page needs the complete state.
	all   bool
	dirty map[string]bool
	wake  chan struct{}
}

// Delta is an event of the stream: what changed since the last one.
type Delta struct {
	// Reset reports that rows are all that there are.
	Reset bool `json:"reset,omitempty"`
	// Rows are new or changed, Removed are the keys of those that no longer exist.
	Rows    []*Row   `json:"rows,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Touched are the keys of all objects that changed, with findings and without. With TooMany they are not complete.
	Touched []string `json:"touched,omitempty"`
	TooMany bool     `json:"tooMany,omitempty"`
	// Checked are what "status" reports about, Others the findings that are about no object of Groundskeeper, Health is the
	// installation, nil when it was not checked.
	Checked  []Checked        `json:"checked"`
	Others   []report.Finding `json:"others,omitempty"`
	Health   *report.Report   `json:"health,omitempty"`
	Finished []Finished       `json:"finished,omitempty"`
	// Now is the time of the console, Namespace the only one that it lists.
	Now       time.Time `json:"now"`
	Namespace string    `json:"namespace,omitempty"`
	Cluster   string    `json:"cluster,omitempty"`
	Context   string    `json:"context,omitempty"`
	User      string    `json:"user,omitempty"`
	// Actions reports that the page can change objects.
	Actions bool `json:"actions,omitempty"`
}

func (s *store) subscribe() *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := &subscription{all: true, dirty: map[string]bool{}, wake: make(chan struct{}, 1)}
	s.subscribers[sub] = struct{}{}
	return sub
}

func (s *store) unsubscribe(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribers, sub)
}

// changed wakes the pages; key is the changed object, "" for none. s.mu is held.
func (s *store) changed(key string) {
	for sub := range s.subscribers {
		if key != "" && !sub.all {
			sub.dirty[key] = true
		}
		select {
		case sub.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// take returns what a page does not know yet.
func (s *store) take(sub *subscription) *Delta {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &Delta{Reset: sub.all, Checked: s.checked(), Health: s.health, Finished: s.finished, Now: s.options.Clock.Now(),
		Namespace: s.options.Namespace, Cluster: s.options.Cluster,
		Context: s.options.Context, User: s.options.User, Actions: len(s.options.Actions) > 0}
	if s.others != nil {
		d.Others = s.others.Findings
	}
	rows := s.rows(sub)
	for key := range sub.dirty {
		if len(d.Touched) < maxTouched {
			d.Touched = append(d.Touched, key)
		}
		if rows[key] == nil {
			d.Removed = append(d.Removed, key)
		}
	}
	d.TooMany = sub.all || len(d.Touched) < len(sub.dirty)
	for _, row := range rows {
		d.Rows = append(d.Rows, row)
	}
	sub.all = false
	clear(sub.dirty)
	return d
}

// rows returns those that a page does not know yet, by their keys.
func (s *store) rows(sub *subscription) map[string]*Row {
	rows := map[string]*Row{}
	if !sub.all && len(sub.dirty) == 0 {
		return rows
	}
	for _, k := range s.kinds {
		for _, e := range k.objects {
			if e.row != nil && (sub.all || sub.dirty[e.row.Key]) {
				rows[e.row.Key] = e.row
			}
		}
	}
	return rows
}

// stream sends deltas to a page until it is closed.
func (s *store) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	sub := s.subscribe()
	defer s.unsubscribe(sub)
	out := http.NewResponseController(w)
	for {
		data, err := json.Marshal(s.take(sub))
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || out.Flush() != nil {
			return
		}
		if !next(r.Context(), sub.wake) {
			return
		}
	}
}

// next waits until there is something to send, or it is time for a sign of life. It returns false when the page was closed.
func next(ctx context.Context, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-time.After(keepAlive):
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(batch):
		return true
	}
}
