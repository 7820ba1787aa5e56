// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// writes remembers Groundskeeper's last write of the status of each backend. The zero value is empty.
type writes struct {
	mu   sync.Mutex
	last map[types.NamespacedName]moment
}

// moment is a version of a backend and when Groundskeeper had to do with it.
type moment struct {
	version string
	at      time.Time
}

// isAfter reports whether a cached version is older, so that its event is still to come. After a while none is waited for: versions
// start over when a store is restored.
func (m moment) isAfter(cached string, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(cached, m.version)
	return err == nil && order < 0 && now.Sub(m.at) < quietPeriod
}

func (w *writes) note(name types.NamespacedName, version string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.NamespacedName]moment{}
	}
	w.last[name] = moment{version, at}
}

func (w *writes) discard(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, name)
}

// wait is how long the next write has to wait.
func (w *writes) wait(name types.NamespacedName, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.last[name].at.Add(statusPeriod).Sub(now), 0)
}

// ahead reports whether a cached backend is older than Groundskeeper's last write.
func (w *writes) ahead(cached *gimbalv1.DiscoveryBackend, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[client.ObjectKeyFromObject(cached)].isAfter(cached.ResourceVersion, now)
}

// checks remembers the last check of each backend. The zero value is empty.
type checks struct {
	mu   sync.Mutex
	last map[types.NamespacedName]moment
}

// wait is how long a check has to wait, 0 when it may take place now. A backend that changed itself need not wait.
func (l *checks) wait(name types.NamespacedName, version string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[name]; ok && last.version == version {
		if wait := last.at.Add(statusPeriod).Sub(now); wait > 0 {
			return wait
		}
	}
	if l.last == nil {
		l.last = map[types.NamespacedName]moment{}
	}
	l.last[name] = moment{version, now}
	return 0
}

func (l *checks) discard(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, name)
}
