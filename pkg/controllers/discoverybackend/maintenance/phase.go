// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
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

// marks are a set of objects that several goroutines use. The zero value is empty.
type marks struct {
	mu  sync.Mutex
	set map[types.UID]bool
}

func (m *marks) has(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.set[uid]
}

// add adds an object, and reports whether it is new.
func (m *marks) add(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.set == nil {
		m.set = map[types.UID]bool{}
	}
	added := !m.set[uid]
	m.set[uid] = true
	return added
}

func (m *marks) remove(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.set, uid)
}
