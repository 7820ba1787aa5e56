// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"
)

// action is the next action of a push for one desired resource.
type action int

const (
	// actReport does nothing; the verdict has the reason.
	actReport action = iota
	// actWait does nothing; the Claim is woken when the node in question changes.
	actWait
	// actEvict first deletes a resource of the same Claim that is no longer listed.
	actEvict
	// actWrite creates, updates or replaces the resource.
	actWrite
)

// situation is the input of decide: everything that the next action for a desired resource depends on.
type situation struct {
	// key names the resource in messages.
	key  string
	mode Mode
	now  time.Time
	know knowledge
	// same: the backend accepted the desired body last. hashed: it accepted some body. copied: a copy may exist.
	same, hashed, copied, misplaced, busy bool
	drift                                 string
	// winner is the name of the Claim that has won the resource, if it is another one.
	winner string
	// retry is the failure that blocks the Claim, trouble the failure of the resource; nil if there is none.
	retry, trouble *trouble
	// short is the missing dependency, missing its name in messages.
	short   shortage
	missing string
	// slot describes the occupant of a slot that the resource needs; slotter is the occupant's name in messages.
	slot    slotState
	slotter string
}

// slotState describes the occupant of a slot that a resource needs. The zero value means that all slots are free.
type slotState int

const (
	// slotOwn: a resource that the same Claim no longer lists.
	slotOwn slotState = iota + 1
	// slotLeaving: a resource of another Claim, to be deleted.
	slotLeaving
	// slotTaken: a resource that another Claim, or the same one, lists.
	slotTaken
)

// decide returns the next action for a desired resource.
func decide(s situation) (action, verdict) {
	if s.winner != "" {
		return actReport, verdict{state: Failed, reason: ReasonConflict, message: "it belongs to " + s.winner + ": list it in one of them only"}
	}
	if s.know == landed && s.same && !s.copied && !s.misplaced && !s.busy && s.drift == "" {
		return actReport, verdict{state: Synced, reason: ReasonSynced}
	}
	if s.drift != "" && s.same && s.mode == Observe {
		return actReport, verdict{state: Drifted, reason: ReasonDrifted, message: s.drift}
	}
	if s.retry != nil && s.now.Before(s.retry.until) {
		v := s.retry.blocked(s.key, s.now)
		v.state = s.waiting()
		return actReport, v
	}
	if s.trouble != nil && s.now.Before(s.trouble.until) && (!s.trouble.missing || s.short.node != nil) {
		v := s.trouble.verdict
		v.retry = s.trouble.until.Sub(s.now)
		if v.state == Pending {
			v.state = s.waiting()
		}
		return actWait, v
	}
	wait := verdict{state: s.waiting(), reason: ReasonWaiting}
	switch {
	case s.short.node != nil && !s.short.unlisted:
		wait.message, wait.coming = "it waits for "+s.missing, true
		return actWait, wait
	case s.short.node != nil && s.short.wait > 0:
		wait.message, wait.retry = "it waits for "+s.missing+", which no Claim lists", s.short.wait
		return actWait, wait
	case s.busy:
		wait.message, wait.coming = "a call for it is under way", true
		return actWait, wait
	case s.slot == slotOwn:
		return actEvict, wait
	case s.slot == slotLeaving:
		wait.message, wait.coming = "it waits until "+s.slotter+" has been deleted from its place", true
		return actWait, wait
	case s.slot == slotTaken:
		return actWait, verdict{state: Failed, reason: ReasonConflict, message: s.slotter + " is in its place"}
	}
	return actWrite, verdict{}
}

// waiting returns the state of a resource that is not tried now. Failed records that the resource or its copy may exist, so that a
// restarted engine does not assume its absence.
func (s *situation) waiting() State {
	switch {
	case s.drift != "":
		return Drifted
	case (s.know == unknown || s.copied) && !s.hashed:
		return Failed
	default:
		return Pending
	}
}

// predict returns the verdict on an item if it can be determined without a read.
func (p *push) predict(it *item) (v verdict, known bool) {
	p.e.with(func(*index) {
		n := it.node
		switch {
		case n == nil && p.deleting:
			v, known = verdict{reason: ReasonSynced, deleted: true}, true
		case n == nil:
			v, known = it.trouble.verdict, true
		case p.c.gen != p.gen:
			v, known = overtaken(n), true
		case p.deleting && n.winner != nil:
			v, known = verdict{reason: ReasonSynced, deleted: true}, true
		case p.deleting && n.know == landed:
			v, known = verdict{state: Deleting, reason: ReasonPlanned, message: "would delete"}, true
		case p.deleting:
		case n.winner != p.c:
			_, v = decide(situation{winner: n.winner.name.String()})
			known = true
		case n.know == landed && n.hash == it.want:
			v, known = verdict{state: Synced, reason: ReasonSynced}, true
		}
		if n != nil {
			v.key = n.key.String()
		}
	})
	return v, known
}
