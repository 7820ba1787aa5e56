// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// quiet is how long nothing must change before a reconciliation begins.
const quiet = 250 * time.Millisecond

// Pace reports when the next reconciliation of a controller is due. Changes come in crowds: nodes that are lost together, claims
// that go one after the other. A reconciliation waits for a moment of quiet, but not indefinitely, so that one check of the nodes
// settles the crowd, and what is deleted next does not block what is being deleted.
type Pace struct {
	clock    clock.PassiveClock
	patience time.Duration

	mu sync.Mutex
	// first and last are when something changed since the last reconciliation began; zero when nothing did.
	first, last time.Time
	ended       time.Time
}

// NewPace returns the pace of a controller of the Site that waits for quiet no longer than its patience.
func (s *Site) NewPace(patience time.Duration) *Pace {
	p := &Pace{clock: s.Clock, patience: patience}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.paces = append(s.memory.paces, p)
	return p
}

func (p *Pace) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.clock.Now()
	if p.first.IsZero() {
		p.first = p.last
	}
}

// Begin returns how long to wait yet; 0 begins a reconciliation.
func (p *Pace) Begin() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.ended.Add(PassInterval)
	if !p.first.IsZero() {
		due = later(due, slices.MinFunc([]time.Time{p.last.Add(quiet), p.first.Add(p.patience)}, time.Time.Compare))
	}
	if rest := due.Sub(p.clock.Now()); rest > 0 {
		return rest
	}
	p.first = time.Time{}
	return 0
}

// End reports that the reconciliation is over.
func (p *Pace) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = p.clock.Now()
}

// beat beats until ctx is done, from the moment at which everything that exists is known.
func (s *Site) beat(ctx context.Context) {
	select {
	case <-s.synced:
	case <-ctx.Done():
		return
	}
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		limited, cancel := context.WithTimeout(ctx, BeatInterval)
		defer cancel()
		s.Beat(limited)
	}, BeatInterval)
}

// Beat confirms that the process runs and reaches the API server, so that no change of a node was missed. After a gap of a Lease or
// longer, all absences start over: a watch that was interrupted need not report a node that came and went.
func (s *Site) Beat(ctx context.Context) {
	if !s.Inventory.Synced() {
		return
	}
	if err := s.LoadRecord(ctx); err != nil {
		log.FromContext(ctx).Error(err, "Failed to read the record of missing nodes")
		return // unread state must not be older than the observed state
	}
	if len(s.Inventory.Missing()) > 0 || s.Inventory.troubled() {
		if err := s.ping(ctx); err != nil {
			log.FromContext(ctx).V(1).Info("Failed to reach the API server: the absence of nodes is not confirmed", "err", err.Error())
			return
		}
	}
	late, unsaved := s.memory.confirm(s.moment())
	interrupted := late && s.Inventory.InterruptAll()
	if interrupted {
		log.FromContext(ctx).Info("Nodes were not observed for some time: their deletion delay starts over")
	}
	if interrupted || unsaved {
		s.memory.notify()
	}
}

// LoadRecord takes over what an earlier process knew of nodes. It has to succeed before the first decision; later calls
// do nothing.
func (s *Site) LoadRecord(ctx context.Context) error {
	known, err := s.record.load(ctx)
	if err != nil || known == nil {
		return err
	}
	gap := Lease
	if now, ok := s.ServerClock.Now(); ok {
		gap = now.Add(dateGranularity).Sub(known.Confirmed)
	}
	s.Inventory.Restore(*known, gap)
	return nil
}

// SaveRecord writes what should outlive the process, when that changed, and as long as something depends on the time that
// nodes are missing, that they still are.
func (s *Site) SaveRecord(ctx context.Context, subjects []Subject) error {
	knowledge, now := s.Inventory.Knowledge(), s.moment()
	knowledge.Confirmed = now.server
	if !s.tenures.holds(recordKey+s.RecordNamespace, now) {
		return nil // the record of another process
	}
	if !s.memory.certain(now) || now.server.IsZero() { // unobserved state is not confirmed: Beat has it saved later
		exchange(&s.memory, &s.memory.unsaved, true)
		return nil
	}
	s.memory.mu.Lock()
	brake := s.memory.brake
	s.memory.mu.Unlock()
	plan := func(missing map[string]time.Time) Plan {
		return planOf(planInput{brake: brake, config: &s.Config, subjects: subjects, untouched: s.Inventory.Untouched(),
			since: missing, now: now.process})
	}
	pending := slices.ContainsFunc(subjects, func(subject Subject) bool { return subject.Pending() })
	err := s.record.save(ctx, knowledge, plan, pending)
	s.announceRecord(ctx, err)
	return err
}

// Hold requests what this cleaner needs to delete anything, when that is due, reports what others have, and returns when to call it again;
// 0: never.
func (s *Site) Hold(ctx context.Context) time.Duration {
	now := s.moment()
	if rest, ever := s.tenures.due(now.process); !ever || rest > 0 {
		return rest
	}
	taken, err := s.tenures.request(ctx, now, true)
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to record who cleans up local volumes, retrying later")
	}
	s.announceOthers(ctx, s.tenures.missing(err))
	if taken {
		s.memory.notify() // the Deleter, too
	}
	rest, _ := s.tenures.due(now.process)
	return rest
}

// Permit is the leave to delete one batch.
type Permit struct {
	site *Site
	live *nodeSet
	// latest finds the nodes of each object once more.
	latest prober

	// mu guards signs, which reads the signs of life of each node once.
	mu    sync.Mutex
	signs map[string]func() (signs, error)
}

// Clear returns those of the subjects that are due and may be deleted now, MaxBatch at most, and the leave to do so. There are none
// while the brake is engaged, according to the events or a live list of the nodes, nor of a class that another process cleans up. An error
// means that the nodes, or who cleans up, cannot be read: then nothing may be deleted either. Subjects that come first are due first.
func (s *Site) Clear(ctx context.Context, subjects []Subject, isDue func(*Subject) bool) (*Permit, []Subject, error) {
	if braked, err := s.braked(ctx, nil, subjects); braked || err != nil {
		return nil, nil, err
	}
	var due []Subject
	for i := range subjects {
		if isDue(&subjects[i]) && s.Holds(subjects[i].Volume.Spec.StorageClassName) && len(due) < MaxBatch {
			due = append(due, subjects[i])
		}
	}
	if len(due) == 0 {
		return nil, nil, nil
	}
	if _, err := s.tenures.request(ctx, s.moment(), false); err != nil {
		return nil, nil, err
	}
	live, err := s.liveNodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	if braked, err := s.braked(ctx, live, subjects); braked || err != nil {
		return nil, nil, err
	}
	permit := &Permit{site: s, live: live, latest: prober{site: s}}
	return permit, slices.DeleteFunc(due, func(subject Subject) bool { return !permit.Allows(subject.Stale) }), nil
}

// Allows has the last word about one volume: none of its nodes was there when the batch began, in the absence that was decided
// about, and none has come since. For a node that was there the delay starts over.
func (p *Permit) Allows(stale Stale) bool {
	return p.site.memory.certain(p.site.moment()) && p.site.Holds(stale.Volume.Spec.StorageClassName) &&
		p.absent(stale.Nodes, p.live) && p.site.Inventory.StillStale(stale)
}

// AllowsNow is Allows immediately before a deletion: it also reads live that none of the nodes has returned since the batch began.
func (p *Permit) AllowsNow(ctx context.Context, stale Stale) (bool, error) {
	if !p.Allows(stale) {
		return false, nil
	}
	now, err := p.latest.around(ctx, stale.Nodes)
	if err != nil {
		return false, err
	}
	return p.absent(stale.Nodes, now) && p.Allows(stale), nil // an event may have come meanwhile
}

func (p *Permit) absent(names []string, nodes *nodeSet) bool {
	if p.site.Inventory.stillAbsent(names, nodes) {
		return true
	}
	p.site.Inventory.Interrupt(names)
	return false
}

// braked reports whether the brake is engaged. live nil is the state from the events.
func (s *Site) braked(ctx context.Context, live *nodeSet, subjects []Subject) (bool, error) {
	toDo := sets.Set[string]{}
	for i := range subjects {
		if subjects[i].toDo() {
			toDo.Insert(subjects[i].Nodes...)
		}
	}
	census := s.Inventory.census(live, toDo)
	reason := brake(census, *s.Config.MaxMissingNodeFraction, 0)
	if reason != "" {
		acknowledged, err := s.record.acknowledged(ctx)
		if err != nil {
			return true, err
		}
		reason = brake(census, *s.Config.MaxMissingNodeFraction, acknowledged)
	}
	s.announceBrake(ctx, census, reason)
	return reason != "", nil
}
