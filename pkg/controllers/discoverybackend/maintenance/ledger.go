// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

const (
	// freeRewrites is how often a route is rewritten immediately. After that each one waits twice as long as the one before, so
	// that a client that continuously resets weights causes few writes.
	freeRewrites = 10
	minPause     = 100 * time.Millisecond
	maxPause     = 5 * time.Second
	// quietPeriod is how long nothing has to be rewritten for the count to start over.
	quietPeriod = time.Minute
)

// ledger is what this process knows of routes beyond the caches: what it wrote, and how that went.
type ledger struct {
	mu      sync.Mutex
	entries map[routeKey]*entry
}

// entry is what is known of a route. Of a route that maintenance never touched there is none.
type entry struct {
	uid types.UID
	// written is Groundskeeper's last write.
	written moment
	// record is the annotation with the saved weights as it should be there, "" when there should be none, and recorded
	// are the backends that it names.
	record   string
	recorded []string
	// rewrites counts writes in a row; rewritten is when the last one was.
	rewrites  int
	rewritten time.Time
	// It reports why the route cannot be written, "" when it can.
	rejected string
	// lost names the rules whose saved weights were lost, of the backends in lostOf, at the generation that has the even
	// distribution instead. It is reported until a user changes the route.
	lost           []string
	lostOf         []string
	lostGeneration int64
}

// of returns the entry of a route, nil when there is none. The lock is held.
func (l *ledger) of(key routeKey, uid types.UID) *entry {
	if e := l.entries[key]; e != nil && e.uid == uid {
		return e
	}
	return nil
}

// ensure returns the entry of a route, new or old. The lock is held.
func (l *ledger) ensure(key routeKey, uid types.UID) *entry {
	if e := l.of(key, uid); e != nil {
		return e
	}
	if l.entries == nil {
		l.entries = map[routeKey]*entry{}
	}
	e := &entry{uid: uid}
	l.entries[key] = e
	return e
}

// It drops what is known of a route that has been deleted.
func (l *ledger) discard(key routeKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, key)
}

// ahead reports whether a cached route is older than what Groundskeeper wrote: its event is on the way.
func (l *ledger) ahead(key routeKey, cached *resourcewatch.Object, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(key, cached.UID)
	return e != nil && e.written.isAfter(cached.ResourceVersion, now)
}

// missing returns the record that a route should have when it has none, or one that cannot be read; "" when there should be none.
// That of a backend that is being deleted, or has been deleted, is removed on purpose, together with the references.
func (l *ledger) missing(key routeKey, uid types.UID, record string, stays func(backend string) bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(key, uid)
	if e == nil || record != "" && !drain.IsDamaged(record) || slices.ContainsFunc(e.recorded, func(backend string) bool { return !stays(backend) }) {
		return ""
	}
	return e.record
}

// agrees notes that nothing is to be done about a route that has a record, or none.
func (l *ledger) agrees(key routeKey, cached *resourcewatch.Object, record string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(key, cached.UID)
	if e == nil && record == "" {
		return
	}
	if e == nil {
		e = l.ensure(key, cached.UID)
	}
	e.record, e.recorded = record, recordedBackends(cached)
	e.rejected = ""
	if e.lost != nil && e.lostGeneration != cached.Generation {
		e.lost, e.lostOf = nil, nil
	}
	if record == "" && e.lost == nil && e.rewrites == 0 {
		delete(l.entries, key)
	}
}

// pause is how long a rewrite has to wait.
func (l *ledger) pause(key routeKey, uid types.UID, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of(key, uid)
	if e == nil {
		return 0
	}
	since := now.Sub(e.rewritten)
	if since >= quietPeriod {
		e.rewrites = 0
	}
	if e.rewrites < freeRewrites {
		return 0
	}
	return max(min(minPause<<min(e.rewrites-freeRewrites, 16), maxPause)-since, 0)
}

// wrote notes the state of a route after a write by Groundskeeper.
func (l *ledger) wrote(key routeKey, written *resourcewatch.Object, record string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ensure(key, written.UID)
	e.written = moment{written.ResourceVersion, now}
	e.record, e.recorded = record, recordedBackends(written)
}

// rewrote notes that values of a route were written.
func (l *ledger) rewrote(key routeKey, uid types.UID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ensure(key, uid)
	e.rewrites, e.rewritten, e.rejected = e.rewrites+1, now, ""
}

// lose notes that the saved weights of rules were lost.
func (l *ledger) lose(key routeKey, uid types.UID, generation int64, rules, backends []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ensure(key, uid)
	e.lost, e.lostOf, e.lostGeneration = rules, backends, generation
}

// It records that a route cannot be written, and reports whether that is news.
func (l *ledger) reject(key routeKey, uid types.UID, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ensure(key, uid)
	news := e.rejected != why
	e.rejected = why
	return news
}

// It reports why a route cannot be written, "" when it can.
func (l *ledger) rejected(key routeKey, uid types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.of(key, uid); e != nil {
		return e.rejected
	}
	return ""
}

// lost returns what of a backend was lost: the names of rules by their route.
func (l *ledger) lost(backend string) map[routeKey]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[routeKey]string{}
	for key, e := range l.entries {
		if slices.Contains(e.lostOf, backend) {
			found[key] = strings.Join(e.lost, ", ")
		}
	}
	return found
}
