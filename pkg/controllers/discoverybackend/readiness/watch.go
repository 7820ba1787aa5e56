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
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// goal is what the slices of a backend are to be brought to.
type goal struct {
	uid      types.UID
	services Services
	// sightings counts how often the watch reported a slice that is to be changed, done is what it was when the slices
	// were listed of which nothing was left to change; -1 before. Slices that are reported later are rechecked.
	sightings, done int64
}

// OnChange has a function called with the name of a backend when one of its copied slices changed. Call it once, before Start.
func (e *Endpoints) OnChange(handler func(backend string)) { e.changed = handler }

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

// watch makes the watches of slices with a label of either prefix.
func (e *Endpoints) watch() {
	for _, selector := range selectors("") {
		informers := remote.NewInformers(nil, remote.EndpointSlices(e.client, selector), remote.Kind[*discoveryv1.EndpointSlice]{
			Example: &discoveryv1.EndpointSlice{}, Trim: trim, Set: e.sighted,
			Index: func(slice *discoveryv1.EndpointSlice) string { return serviceOf(slice).String() },
		})
		e.watched = append(e.watched, informers)
	}
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
	if goal := e.goals[backend]; goal != nil && goal.services.due(slice) {
		goal.sightings++
	}
	e.mu.Unlock()
	e.changed(backend)
}

// aim sets the goal of a backend. It returns what was sighted so far, and whether there is nothing to do. Without the watch
// that is not known.
func (e *Endpoints) aim(backend *gimbalv1.DiscoveryBackend, services Services) (aimed *goal, sighted int64, done bool) {
	synced := !slices.ContainsFunc(e.watched, func(i *remote.Informers[*discoveryv1.EndpointSlice]) bool { return !i.Synced() })
	e.mu.Lock()
	last := e.goals[backend.Name]
	if last != nil && last.uid == backend.UID && last.services.equal(services) {
		defer e.mu.Unlock()
		return last, last.sightings, synced && last.done == last.sightings
	}
	wasDone := synced && last != nil && last.uid == backend.UID && last.done == last.sightings
	aimed = &goal{uid: backend.UID, services: services, done: -1}
	e.goals[backend.Name] = aimed // from here on the watch judges by this goal
	e.mu.Unlock()
	// When all slices matched the last goal, only those of Services of which the goals differ can be due. The watch reports
	// later those of them that it has not received yet.
	if !wasDone || e.anyDue(backend.Name, last.services.differing(services), services) {
		return aimed, 0, false
	}
	e.reached(aimed, 0)
	return e.aim(backend, services)
}

// anyDue reports whether a slice of one of these Services is to be changed, as far as the watch knows.
func (e *Endpoints) anyDue(backend string, among sets.Set[types.NamespacedName], services Services) bool {
	for service := range among {
		for _, informers := range e.watched {
			if slices.ContainsFunc(informers.Indexed(service.Namespace, service.String()), func(slice *discoveryv1.EndpointSlice) bool {
				return desired.BackendOf(slice.Labels) == backend && IsCopy(slice) && services.due(slice)
			}) {
				return true
			}
		}
	}
	return false
}

// reached notes that nothing is left to do for a goal.
func (e *Endpoints) reached(goal *goal, sighted int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	goal.done = sighted
}

// trim keeps of a slice whose it is, of which Service, which conditions its endpoints have, each once, and whether it was withheld.
func trim(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	trimmed := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: slice.Namespace, Name: slice.Name, UID: slice.UID, ResourceVersion: slice.ResourceVersion, Labels: map[string]string{},
	}}
	for _, label := range []string{
		gimbalv1.LabelBackend, gimbalv1.LegacyLabelBackend, discoveryv1.LabelManagedBy, desired.LabelManagedBy,
		discoveryv1.LabelServiceName,
	} {
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
