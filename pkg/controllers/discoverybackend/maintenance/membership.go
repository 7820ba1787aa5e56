// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// phase is what the routes of a backend are to be.
type phase int

const (
	// phaseEnabled: they have the weights that users want.
	phaseEnabled phase = iota
	// phaseDraining: they send nothing to the backend.
	phaseDraining
	// phaseHeld: they remain unchanged, because the endpoints of the backend may still be withheld. A route that got its weight
	// back now would send traffic where nothing is ready.
	phaseHeld
)

// phaseOf returns the phase of a backend. Restored reports that its endpoints are known not to be withheld. A backend that is being
// deleted is in the phase that it was in: its references are removed, which is for the operator to do.
func phaseOf(backend *gimbalv1.DiscoveryBackend, restored bool) phase {
	switch {
	case status.IsInMaintenance(backend):
		return phaseDraining
	case backend.Status.EndpointsDrained || !restored:
		return phaseHeld
	}
	return phaseEnabled
}

// membership reports for one route which of its Services are of which backend, and which of them are drained. It implements
// drain.Backends, drain.Recorder and drain.Judge.
type membership struct {
	fleet
	memory *memory
	// targets has each Service and each ServiceImport that exists, with its EndpointSlices.
	targets map[drain.Object]*target
	// grants are the ReferenceGrants in the other namespaces to which the route refers.
	grants map[string][]*grant
	// recorded are the backends that are drained by the record of the route.
	recorded []string
	// removed are those that were in a record that was removed before this process started.
	removed sets.Set[string]
	// failing are the Services whose requests are to go to other receivers, due is how long it is until that may change without an event;
	// 0 for never.
	failing sets.Set[types.NamespacedName]
	due     time.Duration
}

var (
	_ drain.Judge    = &membership{}
	_ drain.Recorder = &membership{}
)

// Of implements drain.Backends. A label counts within the reach of its backend: else anybody could drain anything by
// the label of a Service.
func (m *membership) Of(object drain.Object) (string, bool) {
	found, known := m.targets[object]
	if !known {
		return "", false
	}
	name := found.backendOf(object)
	if backend := m.all[name]; backend != nil && !m.reaches(backend, object.Namespace) {
		return "", true
	}
	return name, true
}

// Share implements drain.Backends. A backend that has been deleted is drained nowhere.
func (m *membership) Share(name, routeNamespace string) int {
	backend := m.all[name]
	if backend == nil || !m.reaches(backend, routeNamespace) {
		return whole
	}
	return shareOf(backend, m.memory.phaseOf(backend), m.HadRecord(name) || slices.Contains(m.recorded, name))
}

// ClusterOf implements drain.Backends.
func (m *membership) ClusterOf(name string) string { return m.clusterOf(name) }

// Records implements drain.Recorder. The record of a backend that is being deleted is removed with its references.
func (m *membership) Records(name string) bool {
	backend := m.all[name]
	return backend != nil && backend.DeletionTimestamp.IsZero()
}

// HadRecord implements drain.Recorder.
func (m *membership) HadRecord(name string) bool { return m.removed.Has(name) }

// Target implements drain.Backends.
func (m *membership) Target(object drain.Object, port string) drain.Target {
	return m.targets[object].of(port)
}

// KeepsSole implements drain.Backends.
func (m *membership) KeepsSole(name string) bool {
	backend := m.all[name]
	return backend != nil && status.KeepsSole(backend)
}

// Permits implements drain.Judge.
func (m *membership) Permits(kind schema.GroupKind, namespace string, to schema.GroupKind, object types.NamespacedName) bool {
	return slices.ContainsFunc(m.grants[object.Namespace], func(g *grant) bool {
		return g.permits(origin{kind, namespace}, destination{to, object.Name})
	})
}

// servicesOf returns the Services of a route that are of a backend, and those behind its ServiceImports.
func (m *membership) servicesOf(backend string) []types.NamespacedName {
	var all []types.NamespacedName
	for object, found := range m.targets {
		if of, _ := m.Of(object); of == backend {
			all = append(all, found.services(object)...)
		}
	}
	return all
}

// draining reports whether any backend of a route is being drained.
func (m *membership) draining(decision drain.Decision) bool {
	for name := range decision.Backends {
		if backend := m.all[name]; backend != nil && m.memory.phaseOf(backend) == phaseDraining {
			return true
		}
	}
	return false
}
