// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// direction is one of the two things that are done to endpoints.
type direction int

const (
	withholding direction = iota
	restoring
)

func (d direction) way() way {
	if d == withholding {
		return desired.Withhold
	}
	return desired.Restore
}

// sightings count, for each direction, how often the watch notified of a slice that is to be changed for it.
type sightings [2]uint64

// finished is a direction into which all slices of a backend were brought, and what had been sighted before they were listed. What
// is sighted later is rechecked.
type finished struct {
	uid types.UID
	direction
	sightings uint64
}

// OnChange has a function called with the name of a backend when one of its copied slices changed. Call it before Start.
func (e *Endpoints) OnChange(handler func(backend string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers = append(e.handlers, handler)
}

// Start watches until ctx is done.
func (e *Endpoints) Start(ctx context.Context) error {
	var group sync.WaitGroup
	for _, informers := range e.watched {
		group.Go(func() { informers.Run(ctx) })
	}
	group.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a replica that waits knows all that it will need.
func (*Endpoints) NeedLeaderElection() bool { return false }

// Synced reports whether the watch knows all slices.
func (e *Endpoints) Synced() bool {
	return !slices.ContainsFunc(e.watched, func(i *remote.Informers[*discoveryv1.EndpointSlice]) bool { return !i.Synced() })
}

// watch makes the watches of slices with a label of either prefix.
func (e *Endpoints) watch() error {
	for _, selector := range selectors("") {
		informers, err := remote.NewInformers(nil, remote.EndpointSlices(e.client, selector), &discoveryv1.EndpointSlice{}, trim, nil)
		if err != nil {
			return err
		}
		_, err = informers.Handle(remote.Handlers[*discoveryv1.EndpointSlice]{
			Set:     e.sighted,
			Deleted: func(*discoveryv1.EndpointSlice, bool) {}, // nothing is left to do for it
		})
		if err != nil {
			return err
		}
		e.watched = append(e.watched, informers)
	}
	return nil
}

// selectors select, by the labels of either prefix, the slices of a backend; of any when the name is empty. A slice that
// names two is that of the newer label.
func selectors(backend string) []string {
	of := ""
	if backend != "" {
		of = "=" + backend
	}
	return []string{gimbalv1.LabelBackend + of, gimbalv1.LegacyLabelBackend + of + ",!" + gimbalv1.LabelBackend}
}

// sighted notes that a slice changed.
func (e *Endpoints) sighted(slice *discoveryv1.EndpointSlice) {
	backend := desired.BackendOf(slice.Labels)
	if !IsCopy(slice) {
		return
	}
	e.mu.Lock()
	seen := e.seen[backend]
	for d := range seen {
		if direction(d).due(slice) {
			seen[d]++
		}
	}
	e.seen[backend] = seen
	handlers := e.handlers
	e.mu.Unlock()
	for _, handler := range handlers {
		handler(backend)
	}
}

// isDone reports whether there is nothing to do, and what was sighted so far. Without the watch it is unknown.
func (e *Endpoints) isDone(backend *gimbalv1.DiscoveryBackend, to direction) (sighted uint64, done bool) {
	synced := e.Synced()
	e.mu.Lock()
	defer e.mu.Unlock()
	sighted = e.seen[backend.Name][to]
	return sighted, synced && e.done[backend.Name] == finished{backend.UID, to, sighted}
}

func (e *Endpoints) setDone(backend *gimbalv1.DiscoveryBackend, to direction, sighted uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[backend.Name] = finished{backend.UID, to, sighted}
}

// trim keeps of a slice whose it is, which conditions its endpoints have, each once, and whether it was withheld.
func trim(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	trimmed := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: slice.Namespace, Name: slice.Name, UID: slice.UID, ResourceVersion: slice.ResourceVersion, Labels: map[string]string{},
	}}
	for _, label := range []string{gimbalv1.LabelBackend, gimbalv1.LegacyLabelBackend, discoveryv1.LabelManagedBy, desired.LabelManagedBy} {
		if value, ok := slice.Labels[label]; ok {
			trimmed.Labels[label] = value
		}
	}
	if _, ok := slice.Annotations[desired.AnnotationWithheld]; ok {
		trimmed.Annotations = map[string]string{desired.AnnotationWithheld: ""}
	}
	for i := range slice.Endpoints {
		conditions := slice.Endpoints[i].Conditions
		if !slices.ContainsFunc(trimmed.Endpoints, func(kept discoveryv1.Endpoint) bool {
			return equality.Semantic.DeepEqual(kept.Conditions, conditions)
		}) {
			trimmed.Endpoints = append(trimmed.Endpoints, discoveryv1.Endpoint{Conditions: conditions})
		}
	}
	return trimmed
}
