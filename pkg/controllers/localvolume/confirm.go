// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Beat confirms that the process runs and reaches the API server, so that no change of a node was missed. After a gap of a lease or
// longer, all absences start over: a watch that was interrupted need not report a node that came and went.
func (s *Site) Beat(ctx context.Context) {
	if !s.Inventory.Synced() {
		return
	}
	if err := s.LoadRecord(ctx); err != nil {
		log.FromContext(ctx).Error(err, "Failed to read the record of missing nodes")
		return // unread state must not be older than the observed state
	}
	if len(s.Inventory.Missing()) > 0 {
		if err := s.Client.List(ctx, nodeMetadataList(), client.Limit(1)); err != nil {
			log.FromContext(ctx).V(1).Info("Failed to reach the API server: the absence of nodes is not confirmed", "err", err.Error())
			return
		}
	}
	interrupted, unsaved := s.confirm()
	if interrupted {
		log.FromContext(ctx).Info("Nodes were not observed for some time: their deletion delay starts over")
	}
	if interrupted || unsaved {
		s.notify()
	}
}

// moment is a moment by two clocks: that of the process, and that of the API server, which is zero if it is unknown.
type moment struct{ process, server time.Time }

func (s *Site) moment() moment {
	server, _ := s.ServerClock.Now()
	return moment{process: s.Clock.Now(), server: server}
}

// within reports whether less than a Lease has passed until a later moment, by both clocks. The clock of a process stands still while
// its machine is suspended, that of the API server does not.
func (m moment) within(later moment) bool { return m.until(later) < Lease }

// until returns how much time has passed until a later moment, by the clock that measured more.
func (m moment) until(later moment) time.Duration {
	passed := later.process.Sub(m.process)
	if !m.server.IsZero() && !later.server.IsZero() {
		passed = max(passed, later.server.Sub(m.server))
	}
	return passed
}

// confirm notes that nothing was missed until now, and reports whether that was not so and all absences start over, and whether the
// record is to be saved, which was not possible before.
func (s *Site) confirm() (interrupted, unsaved bool) {
	s.mu.Lock()
	now := s.moment()
	interrupted = !s.confirmed.process.IsZero() && !s.confirmed.within(now) && len(s.Inventory.Missing()) > 0
	unsaved = s.unsaved
	s.confirmed, s.unsaved = now, false
	s.mu.Unlock()
	if interrupted {
		s.Inventory.InterruptAll()
	}
	return interrupted, unsaved
}

// certain reports whether it is certain that no change of a node was missed.
func (s *Site) certain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.moment()
	if s.confirmed.process.IsZero() { // the first reconciliation came before the first beat
		s.confirmed = now
	}
	return s.confirmed.within(now)
}

// beat beats until ctx is done, from the moment at which everything that exists is known.
func (s *Site) beat(ctx context.Context) {
	select {
	case <-s.synced:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, beatInterval)
		s.Beat(limited)
		cancel()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
