// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// addressesPeriod is how long the addresses of the API server are used before they are read again.
const addressesPeriod = time.Minute

// memory is what outlives a reconcile. A restart loses all of it: Secrets and addresses are read once more, and a discoverer that holds a
// Lease is waited for from the beginning. It contains nothing of the content of Secrets.
type memory struct {
	mu sync.Mutex
	// secrets are those of backends, so that each version of one is read once.
	secrets map[types.NamespacedName]judgement
	// leases are those of backends that are being deleted. The times in a Lease are of other clocks, so that a holder that died is only
	// known by its silence.
	leases map[types.UID]lease.Observation
	// networks are the addresses of the API server, as of a time.
	networks     []string
	networksRead time.Time
}

// judgement is what was found in one version of a Secret.
type judgement struct {
	uid     types.UID
	version string
	credentials
}

func newMemory() *memory {
	return &memory{secrets: map[types.NamespacedName]judgement{}, leases: map[types.UID]lease.Observation{}}
}

// judged returns what was found in the present version of the Secret of a backend.
func (m *memory) judged(backend types.NamespacedName, secret metav1.Object) (credentials, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.secrets[backend]
	return last.credentials, ok && last.uid == secret.GetUID() && last.version == secret.GetResourceVersion()
}

func (m *memory) judge(backend types.NamespacedName, secret metav1.Object, found credentials) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets[backend] = judgement{secret.GetUID(), secret.GetResourceVersion(), found}
}

// holder adds what was read of the Lease of a backend, nil for none, and returns who holds it.
func (m *memory) holder(backend types.UID, current *coordinationv1.Lease, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases[backend] = m.leases[backend].Then(current, now)
	return m.leases[backend].Holder(now)
}

// apiServer returns the addresses of the API server, unless they are too old.
func (m *memory) apiServer(now time.Time) ([]string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.networks, !m.networksRead.IsZero() && now.Sub(m.networksRead) < addressesPeriod
}

func (m *memory) setAPIServer(networks []string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.networks, m.networksRead = networks, now
}

// discard drops what is remembered of a backend that has been deleted.
func (m *memory) discard(name types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, name)
	delete(m.leases, uid)
}
